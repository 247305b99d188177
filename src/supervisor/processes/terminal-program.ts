// A process in a pseudo-terminal.
import type { Log } from '../../core/log.ts';
import { randomHex } from '../../core/urandom.ts';
import { openCgroup } from '../../linux/processes/cgroup.ts';
import { readIdentity } from '../../linux/processes/process-identity.ts';
import { signalProcess } from '../../linux/processes/signal-process.ts';
import { FamilyEnd } from '../services/family-end.ts';
import { toLaunch } from '../services/launch.ts';
import { EXEC_GROUP } from './left-groups.ts';
import type { Program, ProgramTarget } from './program.ts';
import type { ProgramSetting } from './program-setting.ts';
import type { Command } from './read-command.ts';
import { openTerminal } from './terminal-library.ts';

const SIGNALLED = 128;

/** Throws when the process or its terminal cannot be made. */
export function startTerminalProgram(
  { words: [cmd, ...args] }: Command,
  size: { readonly cols: number; readonly rows: number },
  { dir, env, user, mark }: ProgramSetting,
  target: ProgramTarget,
  log: Log,
): Program {
  const cgroup = openCgroup(`${EXEC_GROUP}${randomHex(8)}`);
  const launch = toLaunch({ cmd, args, env, user, cgroup: cgroup?.path, isTerminal: true });
  const own = { ...launch.env, TERM: env.TERM ?? 'xterm-256color' };
  const terminal = openTerminal(launch.command, launch.args, { ...size, cwd: dir, env: own, encoding: null });
  const { pid, _socket: socket } = terminal;
  let isOver = false;
  // The library throws an error that nobody else listens to; the end of the terminal is such an error.
  socket.on('error', () => undefined).on('drain', () => target.onRoom());
  socket.on('data', (bytes: Buffer) => target.onOutput({ kind: 'stdout', bytes }));
  const exited = new Promise<number>((settle) => {
    terminal.onExit(({ exitCode, signal = 0 }) => {
      isOver = true;
      settle(signal > 0 ? SIGNALLED + signal : exitCode);
    });
  });
  const family = { mark, leader: readIdentity(pid), cgroup };
  const onHung = (pids: readonly number[]) => log.error({ pids }, 'processes of a session do not end');
  let ending: FamilyEnd | undefined;
  return {
    pid,
    exited,
    // The exit comes after all output.
    drained: exited.then(() => cgroup?.remove()),
    closed: exited,
    write: (bytes) => isOver || !socket.writable || socket.write(bytes),
    endInput: () => undefined,
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
    resize(cols, rows) {
      if (!isOver && !socket.destroyed) terminal.resize(cols, rows);
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
    release: () => undefined,
  };
}
