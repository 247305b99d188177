// Starts the process of one instance of a machine in its directory: makes a private file with its token, its log, and an environment
// without secrets.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RemoraError } from '../../../../core/remora-error.ts';
import type { Secret } from '../../../../core/secret.ts';
import { withoutBrackets } from '../../../../core/without-brackets.ts';
import { type ProcessIdentity, readIdentity } from '../../../../linux/processes/process-identity.ts';
import { signalProcess } from '../../../../linux/processes/signal-process.ts';
import { MACHINE_LOG } from '../last-lines.ts';
import type { InstanceEnd, MachineSpec } from '../machine-driver.ts';
import type { MachineProcess } from '../machine-process.ts';
import { PAUSES } from './count-pause.ts';
import { HOME } from './machine-directory.ts';
import { INSTANCE_VARIABLE } from './process-note.ts';

export interface AgentCommand {
  readonly command: string;
  readonly args: readonly string[];
  /** Variables added to the environment of a machine; they win over those that it has. */
  readonly env?: (machine: Pick<MachineSpec, 'app' | 'sprite'>) => Readonly<Record<string, string>>;
}

export interface SpawnOptions {
  /** The directory in which each machine has a directory of its own. */
  readonly dir: string;
  /** The command that a machine runs; without it no machine starts. */
  readonly command: AgentCommand | undefined;
  /**
   * The URL of this very platform process, read at each start, because the port is known only after listening. Not that of a server before it:
   * only this process can move the machine, and nothing on the way between two processes of one host may fail.
   */
  readonly machinesUrl: () => string;
  readonly nodeUrl?: string | undefined;
  /** Makes a new token for the machine and revokes its earlier ones. */
  readonly createToken: (machine_id: string) => Promise<Secret>;
}

/** The variables that a machine inherits; the others may hold keys. */
const inherited = ['PATH', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR'] as const;
const LOG_CAP_BYTES = 16 * 1024 * 1024;

/**
 * Resolves when the process runs the command. It holds no pipe to the platform, so that it can outlive it.
 * The directory of the machine exists. `onSpawned` runs right after the spawn. Throws `not_configured` without a command, `internal` when it cannot be started.
 */
export async function spawnMachine(
  spec: MachineSpec,
  options: SpawnOptions,
  onSpawned: (identity: ProcessIdentity) => void,
): Promise<MachineProcess> {
  const { command } = options;
  if (command === undefined) {
    throw new RemoraError('not_configured', 'this platform was started without a command to run machines with');
  }
  const dir = join(options.dir, spec.id);
  const tokenFile = writeTokenFile(dir, await options.createToken(spec.id));
  const env = { ...toEnvironment(spec, dir, tokenFile, options), ...command.env?.(spec) };
  return await spawnLeader({ dir, command, env }, onSpawned);
}

export interface LeaderOptions {
  readonly dir: string;
  readonly command: Pick<AgentCommand, 'command' | 'args'>;
  readonly env: NodeJS.ProcessEnv;
}

/** Starts the command with the log of the directory. Resolves and throws as `spawnMachine`. */
export async function spawnLeader(
  { dir, command, env }: LeaderOptions,
  onSpawned: (identity: ProcessIdentity) => void,
): Promise<MachineProcess> {
  const log = openLog(dir);
  try {
    const child = spawn(command.command, command.args, {
      cwd: dir,
      detached: true,
      stdio: ['ignore', log, log],
      env,
    });
    child.unref();
    const ended = new Promise<InstanceEnd>((resolve) => {
      child.once('exit', (exit_code, signal) => resolve({ exit_code, signal }));
    });
    const identity = child.pid === undefined ? undefined : readIdentity(child.pid);
    const spawned = once(child, 'spawn');
    if (identity !== undefined) tellOrEnd(identity, onSpawned);
    await spawned;
    // A failed signal emits `error`, which would end the platform without a listener; the wait for the exit shows the failure.
    child.on('error', () => undefined);
    if (identity === undefined) throw new Error('the child has no pid');
    return { ...identity, ended };
  } catch (cause) {
    throw new RemoraError('internal', `the machine could not be started: ${command.command} does not run`, {
      cause,
    });
  } finally {
    closeSync(log);
  }
}

/** Kills the process when its note cannot be written: no later platform would find it. */
function tellOrEnd(identity: ProcessIdentity, onSpawned: (identity: ProcessIdentity) => void): void {
  try {
    onSpawned(identity);
  } catch (error) {
    signalProcess(-identity.pid, 'SIGKILL');
    throw error;
  }
}

const ROOT = 0;

function toEnvironment(
  spec: MachineSpec,
  dir: string,
  tokenFile: string,
  options: SpawnOptions,
): Record<string, string> {
  const url = options.machinesUrl();
  const own = inherited.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return {
    ...spec.environment,
    ...Object.fromEntries(own),
    HOME: join(dir, HOME),
    REMORA_HOME: join(dir, HOME),
    REMORA_SOCKET: join(dir, 'agent.sock'),
    REMORA_STATE_DIR: join(dir, 'state'),
    REMORA_BASE_URL: url,
    REMORA_MACHINES_API: url,
    // Nobody but this host is between the two.
    REMORA_PLAIN_HTTP_HOSTS: withoutBrackets(new URL(url).hostname),
    REMORA_TOKEN_FILE: tokenFile,
    REMORA_PAUSES_FILE: join(dir, PAUSES),
    REMORA_STARTED_AGAIN: 'true',
    REMORA_SPRITE: spec.sprite,
    REMORA_APP: spec.app,
    REMORA_MACHINE: spec.id,
    // A machine of this driver has no user of its own: what runs in it runs as the platform does.
    ...(process.getuid?.() === ROOT ? { REMORA_USER: 'root' } : {}),
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

/** Opens the log for appending. A log over its cap is renamed first, in place of the one that was renamed before it. */
function openLog(dir: string): number {
  const path = join(dir, MACHINE_LOG);
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size > LOG_CAP_BYTES) renameSync(path, `${path}.1`);
  return openSync(path, 'a', 0o600);
}
