// Starting the process of one life of a machine: its directory, its token in a file that only it can read, its log, and an
// environment that is made here and takes nothing secret along.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RemoraError } from '../../core/remora-error.ts';
import type { Secret } from '../../core/secret.ts';
import type { LifeEnd, MachineSpec } from './driver.ts';
import { INSTANCE_VARIABLE } from './process-note.ts';

export interface AgentCommand {
  readonly command: string;
  readonly args: readonly string[];
  /** Added to the environment of the machine, and stronger than what is there. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface SpawnOptions {
  /** One directory a machine is made in here. */
  readonly dir: string;
  /** What a machine runs; without it no machine starts. */
  readonly command: AgentCommand | undefined;
  /** Where this platform answers; read at each start, because the port is known late. */
  readonly platformUrl: () => string;
  /** Where the platform process answers that moves this machine, and no other: not a balancer before several. */
  readonly machinesUrl: () => string;
  readonly nodeUrl?: string | undefined;
  /** A new token for the machine; earlier ones end. */
  readonly createToken: (machine_id: string) => Promise<Secret>;
}

export interface SpawnedProcess {
  /** Also the id of its process group. */
  readonly pid: number;
  readonly exited: Promise<LifeEnd>;
  kill(signal: NodeJS.Signals): void;
}

/** Nothing else of our own environment reaches a machine: it may hold keys. */
const inherited = ['PATH', 'HOME', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR'] as const;
const LOG_CAP_BYTES = 16 * 1024 * 1024;

/** Resolves when the process exists. Throws `not_configured` without a command, `internal` when it cannot be started. */
export async function spawnMachine(spec: MachineSpec, options: SpawnOptions): Promise<SpawnedProcess> {
  const { command } = options;
  if (command === undefined) {
    throw new RemoraError('not_configured', 'this platform was started without a command to run machines with');
  }
  const dir = join(options.dir, spec.id);
  mkdirSync(join(dir, 'state'), { recursive: true, mode: 0o700 });
  const tokenFile = writeTokenFile(dir, await options.createToken(spec.id));
  const log = openLog(dir);
  try {
    const child = spawn(command.command, command.args, {
      cwd: dir,
      detached: true,
      stdio: ['ignore', log, log],
      env: { ...toEnvironment(spec, dir, tokenFile, options), ...command.env },
    });
    const exited = new Promise<LifeEnd>((resolve) => {
      child.once('exit', (exit_code, signal) => resolve({ exit_code, signal }));
    });
    await once(child, 'spawn');
    // A signal that cannot be sent is an event here, and would end the platform: the wait for the exit tells instead.
    child.on('error', () => undefined);
    if (child.pid === undefined) throw new Error('the child has no pid');
    return { pid: child.pid, exited, kill: (signal) => child.kill(signal) };
  } catch (cause) {
    throw new RemoraError('internal', `the machine could not be started: ${command.command} does not run`, {
      cause,
    });
  } finally {
    closeSync(log);
  }
}

function toEnvironment(
  spec: MachineSpec,
  dir: string,
  tokenFile: string,
  options: SpawnOptions,
): Record<string, string> {
  const url = options.platformUrl();
  const own = inherited.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return {
    ...Object.fromEntries(own),
    REMORA_SOCKET: join(dir, 'agent.sock'),
    REMORA_STATE_DIR: join(dir, 'state'),
    REMORA_BASE_URL: url,
    REMORA_MACHINES_API: options.machinesUrl(),
    REMORA_TOKEN_FILE: tokenFile,
    REMORA_SPRITE: spec.sprite,
    REMORA_APP: spec.app,
    REMORA_MACHINE: spec.id,
    ...(options.nodeUrl === undefined ? {} : { REMORA_NODE_URL: options.nodeUrl }),
    FLY_APP_NAME: spec.app,
    FLY_MACHINE_ID: spec.id,
    FLY_REGION: spec.region,
    FLY_PRIVATE_IP: spec.private_ip,
    FLY_VM_MEMORY_MB: String(spec.memory_mb),
    [INSTANCE_VARIABLE]: spec.instance_id,
  };
}

function writeTokenFile(dir: string, token: Secret): string {
  const path = join(dir, 'token');
  rmSync(path, { force: true });
  writeFileSync(path, token.reveal(), { mode: 0o600, flag: 'wx' });
  return path;
}

/** Appends; a log that has grown over its cap is set aside at the next boot, and the one before it is dropped. */
function openLog(dir: string): number {
  const path = join(dir, 'agent.log');
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size > LOG_CAP_BYTES) renameSync(path, `${path}.1`);
  return openSync(path, 'a', 0o600);
}
