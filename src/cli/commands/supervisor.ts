// `remora supervisor`: runs what people ask for in this sprite, until a signal or until nothing needs it.
import { resolve } from 'node:path';
import { createLog } from '../../agent/agent-log.ts';
import { MACHINE_VARIABLES } from '../../core/supervisor-wire.ts';
import { takeInheritedSockets } from '../../http/inherited-sockets.ts';
import { findUser, type UnixUser } from '../../linux/users.ts';
import { openSupervisor } from '../../supervisor/supervisor.ts';
import { openVersionNote } from '../../supervisor/version-note.ts';
import type { Invocation } from '../command.ts';
import { exitCode, UsageError } from '../exit-code.ts';
import { openLogDestination } from '../log-destination.ts';
import { openStopSignals } from '../stop-signals.ts';

const IDLE_MS = 60_000;
const ROOT = 0;
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** What programs get of the supervisor's own environment. */
const inherited = [...MACHINE_VARIABLES, 'REMORA_SOCKET'] as const;

export async function run(invocation: Invocation): Promise<number> {
  const { env } = invocation;
  // Each file that needs another mode gets it when it is made; programs begin with this mask.
  process.umask(0o022);
  using signals = openStopSignals(env);
  const inheritedSockets = takeInheritedSockets(env, process.pid);
  const isUnit = inheritedSockets.length > 0;
  const given = isUnit ? await readUnitSettings(invocation) : readFlags(invocation);
  const log = createLog(given.logLevel, await openLogDestination(2, env));
  const listed = toUser(given.user, env);
  const user = { ...listed, home: resolve(given.home || listed.home) };
  const socket = isUnit ? '' : toPath(invocation, 'socket');
  await using supervisor = await openSupervisor({
    socket,
    inherited: inheritedSockets,
    stateDir: given.stateDir,
    user,
    baseEnv: toBaseEnvironment(env, user),
    log,
    idle_ms: IDLE_MS,
  });
  using _ = openVersionNote(given.stateDir, invocation.version, log);
  log.info({ socket, user: user.name }, 'the supervisor serves');
  await Promise.race([signals.stopped, supervisor.idle]);
  return exitCode.ok;
}

interface Given {
  readonly stateDir: string;
  readonly user: string | undefined;
  readonly home: string | undefined;
  readonly logLevel: string;
}

/** What an agent that starts the supervisor says. */
function readFlags(invocation: Invocation): Given {
  const { env, text } = invocation;
  return {
    stateDir: toPath(invocation, 'state-dir'),
    user: text('user') ?? env.REMORA_USER,
    home: text('home') ?? env.REMORA_HOME,
    logLevel: text('log-level') ?? 'info',
  };
}

/** Nobody says under systemd what the agent is set to: it is read where the agent reads it. */
async function readUnitSettings({ env, text }: Invocation): Promise<Given> {
  const { readSettings } = await import('../../agent/config/read-settings.ts');
  const flags = { state_dir: text('state-dir'), user: text('user'), home: text('home'), log_level: text('log-level') };
  return readSettings({ env, flags });
}

function toPath({ text }: Invocation, flag: string): string {
  const given = text(flag);
  if (given === undefined || given === '') throw new UsageError(`remora supervisor needs --${flag}`);
  return resolve(given);
}

/** Root must name a user, so that programs do not run as root by an oversight. */
function toUser(given: string | undefined, env: NodeJS.ProcessEnv): UnixUser {
  const uid = process.getuid?.() ?? ROOT;
  if (given === undefined || given === '') {
    if (uid === ROOT) throw new UsageError('remora supervisor needs --user NAME or REMORA_USER when root runs it');
    return findUser(String(uid)) ?? toUnlisted(uid, env);
  }
  const user = findUser(given);
  if (user === undefined) throw new UsageError(`there is no user ${given}; create it or name another with --user`);
  if (uid !== ROOT && user.uid !== uid) throw new UsageError(`only root can run programs as ${given}`);
  return user;
}

/** A user without an entry in /etc/passwd, as containers have them. */
function toUnlisted(uid: number, env: NodeJS.ProcessEnv): UnixUser {
  return { name: String(uid), uid, gid: process.getgid?.() ?? uid, home: env.HOME ?? '/', shell: '/bin/sh' };
}

function toBaseEnvironment(env: NodeJS.ProcessEnv, { name, home, shell }: UnixUser): Record<string, string> {
  const kept = inherited.flatMap((key) => {
    const value = env[key];
    return value === undefined ? [] : [[key, value] as const];
  });
  return { PATH, ...Object.fromEntries(kept), HOME: home, USER: name, LOGNAME: name, SHELL: shell };
}
