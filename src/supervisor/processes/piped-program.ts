// A process whose standard input and output are pipes.
import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import type { Log } from '../../core/log.ts';
import { randomHex } from '../../core/urandom.ts';
import { readIdentity } from '../../linux/processes/process-identity.ts';
import { signalProcess } from '../../linux/processes/signal-process.ts';
import { FamilyEnd } from '../services/family-end.ts';
import { toLaunch } from '../services/launch.ts';
import { toExitStatus } from './exit-status.ts';
import { EXEC_GROUP } from './left-groups.ts';
import { OutputDrain } from './output-drain.ts';
import type { OutputKind } from './output-ring.ts';
import type { Program, ProgramTarget } from './program.ts';
import type { ProgramSetting } from './program-setting.ts';
import type { Command } from './read-command.ts';

/** Throws when the process cannot be made. */
export function startPipedProgram(
  { words: [cmd, ...args], hasStdin }: Command,
  { dir, env, user, restraint, mark }: ProgramSetting,
  target: ProgramTarget,
  log: Log,
): Program {
  const cgroup = restraint.openGroup(`${EXEC_GROUP}${randomHex(8)}`);
  const launch = toLaunch({ cmd, args, env, user, cgroup: cgroup?.path, restraint: restraint.flags });
  const child = spawn(launch.command, launch.args, {
    cwd: dir,
    env: launch.env,
    detached: true,
    stdio: [hasStdin ? 'pipe' : 'ignore', 'pipe', 'pipe', ...(launch.variables === undefined ? [] : ['pipe' as const])],
  });
  child.on('error', ignore);
  const { pid } = child;
  if (pid === undefined) {
    cgroup?.remove();
    throw new Error(`${cmd} cannot be started; the machine may have too many processes or too little memory`);
  }
  passVariables(child, launch.variables);
  const { stdin, stdout, stderr } = child;
  stdin?.on('error', ignore).on('drain', () => target.onRoom());
  const exited = new Promise<number>((settle) => {
    child.once('exit', (code, signal) => settle(toExitStatus(code, signal)));
  });
  const outputs = toOutputs(stdout, stderr);
  const drain = new OutputDrain(outputs.map(({ stream }) => stream));
  for (const { kind, stream } of outputs) {
    stream.on('error', ignore).on('data', (bytes: Buffer) => {
      drain.onData(bytes.length);
      if (!drain.isOver) target.onOutput({ kind, bytes });
    });
  }
  const drained = exited.then(async () => {
    stdin?.destroy();
    await drain.finish();
    cgroup?.remove();
    target.onRoom();
  });
  const family = { mark, leader: readIdentity(pid), cgroup };
  const onHung = (pids: readonly number[]) => log.error({ pids }, 'processes of a session do not end');
  let ending: FamilyEnd | undefined;
  return {
    pid,
    exited,
    drained,
    closed: drain.ended,
    write: (bytes) => stdin?.writable !== true || stdin.write(bytes),
    endInput: () => void stdin?.end(),
    pause: () => drain.pause(),
    resume: () => drain.resume(),
    resize: ignore,
    signal: (name) => void signalProcess(-pid, name),
    async end(grace_ms) {
      ending ??= new FamilyEnd(family, grace_ms, onHung);
      ending.hasten(grace_ms);
      await ending.done;
    },
    release: () => drain.release(),
  };
}

function passVariables(child: ChildProcess, variables: string | undefined): void {
  const pipe = child.stdio[3] as Writable | null | undefined;
  // A program that ends before it has read its variables says why by its exit code.
  pipe?.on('error', ignore);
  pipe?.end(variables);
}

function toOutputs(stdout: Readable | null, stderr: Readable | null): { kind: OutputKind; stream: Readable }[] {
  const both = [
    { kind: 'stdout' as const, stream: stdout },
    { kind: 'stderr' as const, stream: stderr },
  ];
  return both.flatMap(({ kind, stream }) => (stream === null ? [] : [{ kind, stream }]));
}

function ignore(): void {}
