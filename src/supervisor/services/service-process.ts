// The process of a service: starts it as the user of the sprite, in a process group and a control group of its own, and knows when it is over.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync } from 'node:fs';
import { constants } from 'node:os';
import { resolve } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import type { ServiceRequest } from '../../contract/services.ts';
import { toErrorMessage } from '../../core/error-message.ts';
import type { Log } from '../../core/log.ts';
import { randomHex } from '../../core/urandom.ts';
import type { ProcessFamily } from '../../linux/processes/process-family.ts';
import { readIdentity } from '../../linux/processes/process-identity.ts';
import type { UnixUser } from '../../linux/users.ts';
import type { Restraint } from '../policy/to-restraint.ts';
import { FamilyEnd } from './family-end.ts';
import { whyNotStartable } from './find-program.ts';
import { type Launch, toLaunch } from './launch.ts';
import { type OutputPipe, openOutputPipes, toPipeDirectory } from './output-pipes.ts';
import { readPipe, readStream } from './output-source.ts';
import type { RunNotes } from './run-note.ts';
import { SERVICE_VARIABLE, type ServiceMarks } from './service-mark.ts';
import { type OpenSource, type OutputTarget, type ServiceOutput, startOutput } from './service-output.ts';

/** How long what a service has started may take to end once its first process has ended by itself. */
const REST_MS = 1_000;
const SIGNALLED = 128;

export interface ProcessOptions {
  readonly stateDir: string;
  readonly user: UnixUser;
  readonly baseEnv: Readonly<Record<string, string>>;
  /** The app's secrets; the variables of the definition override them. */
  readonly secrets: Readonly<Record<string, string>>;
  /** What holds for it. */
  readonly restraint: Restraint;
  readonly notes: RunNotes;
  readonly marks: ServiceMarks;
  readonly log: Log;
}

export interface ServiceProcess {
  readonly pid: number;
  /** Resolves with the exit code, or 128 and the number of the signal, once every process is gone and everything printed is passed on. */
  readonly done: Promise<number>;
  /** Whether the kernel has ended a process of it for want of memory, once the first process is over. */
  wasOutOfMemory(): boolean;
  /** Ends all of it; it is killed after `grace_ms`. */
  end(grace_ms: number): void;
  /** Signals the first process. False when it has ended. */
  signal(name: NodeJS.Signals): boolean;
}

/** Rejects with a message for people when it cannot be started. */
export async function startProcess(
  name: string,
  request: ServiceRequest,
  options: ProcessOptions,
  target: OutputTarget,
): Promise<ServiceProcess> {
  const { user, baseEnv, secrets, restraint, notes, marks, log } = options;
  const mark = marks.toMark(name);
  const env = { ...baseEnv, ...secrets, ...request.env, [SERVICE_VARIABLE]: mark };
  const dir = resolve(existsSync(user.home) ? user.home : '/', request.dir ?? '');
  const other = process.geteuid?.() === user.uid ? undefined : user;
  checkStartable(request.cmd, dir, env, other);
  const cgroup = restraint.openGroup(`remora-service-${randomHex(8)}`);
  const note = (leader: ProcessFamily['leader']) => {
    try {
      notes.write(name, { leader, cgroup });
    } catch (error) {
      // Its mark finds it all the same.
      log.warn({ service: name, err: error }, 'the process of a service cannot be noted');
    }
  };
  note(undefined);
  const { cmd, args } = request;
  const launch = toLaunch({ cmd, args, env, user: other, cgroup: cgroup?.path, restraint: restraint.flags });
  const pipes = await openPipes(options, other);
  let output: ServiceOutput | undefined;
  try {
    const child = spawnChild(launch, dir, pipes);
    const reading = startOutput(toOpen(pipes?.[0], child.stdout), toOpen(pipes?.[1], child.stderr), target);
    output = reading;
    let isOutOfMemory = false;
    const exited = new Promise<number>((settle) => {
      child.once('exit', (code, signal) => {
        isOutOfMemory = (cgroup?.oomKills() ?? 0) > 0;
        settle(code ?? SIGNALLED + (signal === null ? 0 : constants.signals[signal]));
      });
    });
    await once(child, 'spawn');
    // A signal that cannot be sent is an `error` too.
    child.on('error', () => undefined);
    const pid = child.pid ?? 0;
    const leader = readIdentity(pid);
    note(leader);
    const onHung = (pids: readonly number[]) => log.error({ service: name, pids }, 'processes of a service do not end');
    const family = { mark, leader, cgroup };
    let ending: FamilyEnd | undefined;
    const end = (grace_ms: number) => {
      ending ??= new FamilyEnd(family, grace_ms, onHung);
      ending.hasten(grace_ms);
      return ending.done;
    };
    const done = exited.then(async (code) => {
      await end(REST_MS);
      await reading.close();
      notes.remove(name);
      return code;
    });
    return {
      ...{ pid, done },
      wasOutOfMemory: () => isOutOfMemory,
      end: (grace_ms) => void end(grace_ms),
      signal: (signal) => child.kill(signal),
    };
  } catch (error) {
    await output?.close();
    cgroup?.remove();
    notes.remove(name);
    throw new Error(`${request.cmd} cannot be started: ${toErrorMessage(error)}`);
  }
}

function checkStartable(cmd: string, dir: string, env: Readonly<Record<string, string>>, user: UnixUser | undefined) {
  const why = whyNotStartable(cmd, dir, env.PATH ?? '');
  if (why !== undefined) throw new Error(why);
  if (user !== undefined && whyNotStartable('setpriv', '/', '/usr/sbin:/usr/bin:/sbin:/bin') !== undefined) {
    throw new Error(`there is no program setpriv, which runs services as ${user.name}; install util-linux`);
  }
}

/** Undefined where none can be made, such as on a full disk: the program then gets what Node makes. */
async function openPipes({ stateDir, log }: ProcessOptions, owner: UnixUser | undefined) {
  try {
    return await openOutputPipes(toPipeDirectory(stateDir), owner);
  } catch (err) {
    log.warn({ err }, 'a service cannot open /dev/stdout: its pipes cannot be made');
    return undefined;
  }
}

type Child = ChildProcessByStdio<null, Readable, Readable>;

/** `stdout` and `stderr` of the result are null where there are pipes. */
function spawnChild(launch: Launch, cwd: string, pipes: readonly [OutputPipe, OutputPipe] | undefined): Child {
  const { command, args, env, variables } = launch;
  const outputs: ('pipe' | number)[] = pipes?.map(({ writer }) => writer) ?? ['pipe', 'pipe'];
  const last = variables === undefined ? [] : (['pipe'] as const);
  try {
    const child = spawn(command, args, { cwd, env, detached: true, stdio: ['ignore', ...outputs, ...last] });
    const pipe = child.stdio[3] as Writable | null | undefined;
    // A program that ends before it has read its variables says why by its exit code.
    pipe?.on('error', () => undefined);
    pipe?.end(variables);
    return child as unknown as Child;
  } catch (error) {
    for (const { reader } of pipes ?? []) closeSync(reader);
    throw error;
  } finally {
    for (const { writer } of pipes ?? []) closeSync(writer);
  }
}

function toOpen(pipe: OutputPipe | undefined, stream: Readable): OpenSource {
  return (onBytes) => (pipe === undefined ? readStream(stream, onBytes) : readPipe(pipe.reader, onBytes));
}
