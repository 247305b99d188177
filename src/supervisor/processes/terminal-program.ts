// A process in a pseudo-terminal.
import type { Log } from '../../core/log.ts';
import { randomHex } from '../../core/urandom.ts';
import { readIdentity } from '../../linux/processes/process-identity.ts';
import { signalProcess } from '../../linux/processes/signal-process.ts';
import { FamilyEnd } from '../services/family-end.ts';
import { toLaunch } from '../services/launch.ts';
import { EXEC_GROUP } from './left-groups.ts';
import type { Program, ProgramTarget } from './program.ts';
import type { ProgramSetting } from './program-setting.ts';
import type { Command } from './read-command.ts';
import { type ForkedTerminal, forkTerminal, resizeTerminal } from './terminal-library.ts';
import { TerminalStream } from './terminal-stream.ts';

const SIGNALLED = 128;

/** Throws when the process or its terminal cannot be made. */
export function startTerminalProgram(
  { words: [cmd, ...args] }: Command,
  size: { readonly cols: number; readonly rows: number },
  { dir, env, user, restraint, mark }: ProgramSetting,
  target: ProgramTarget,
  log: Log,
): Program {
  const cgroup = restraint.openGroup(`${EXEC_GROUP}${randomHex(8)}`);
  const launch = toLaunch({
    ...{ cmd, args, env, user, isTerminal: true },
    cgroup: cgroup?.path,
    restraint: restraint.flags,
  });
  const own = { ...launch.env, TERM: env.TERM ?? 'xterm-256color' };
  const exit = Promise.withResolvers<number>();
  const forked = forkTerminal(launch.command, launch.args, { ...size, cwd: dir, env: own }, (code, signal) =>
    exit.resolve(signal > 0 ? SIGNALLED + signal : code),
  );
  const { pid, fd } = forked;
  const stream = openStream(forked, target);
  let isOver = false;
  const exited = exit.promise.then((code) => {
    isOver = true;
    return code;
  });
  const drained = exited.then(async () => {
    await stream.finish();
    cgroup?.remove();
  });
  const family = { mark, leader: readIdentity(pid), cgroup };
  const onHung = (pids: readonly number[]) => log.error({ pids }, 'processes of a session do not end');
  let ending: FamilyEnd | undefined;
  return {
    pid,
    exited,
    drained,
    closed: drained,
    write: (bytes) => isOver || stream.write(bytes),
    endInput: () => undefined,
    pause: () => stream.setPaused(true),
    resume: () => stream.setPaused(false),
    resize(cols, rows) {
      if (!isOver && stream.isOpen) resizeTerminal(fd, cols, rows);
    },
    signal(name) {
      // A child that has just been forked does not lead its group yet.
      if (!isOver && !signalProcess(-pid, name)) signalProcess(pid, name);
    },
    async end(grace_ms) {
      ending ??= new FamilyEnd(family, grace_ms, onHung);
      ending.hasten(grace_ms);
      await ending.done;
    },
    release: () => stream.close(),
  };
}

/** Throws when the terminal cannot be used; its process is ended then. */
function openStream({ pid, fd, pty }: ForkedTerminal, { onOutput, onRoom }: ProgramTarget): TerminalStream {
  try {
    return new TerminalStream({ fd, pty, onOutput: (bytes) => onOutput({ kind: 'stdout', bytes }), onRoom });
  } catch (error) {
    signalProcess(pid, 'SIGKILL');
    throw error;
  }
}
