// The command line that becomes the process of a service. Pure. Programs that root runs on the way get none of the variables of a request,
// because some of them make a program load code; they come through a pipe, or for a terminal, which has none, as text in variables of another
// name, and are read once root is given up.

import { toQuotedWord } from '../../core/shell-word.ts';
import type { UnixUser } from '../../linux/users.ts';

const SHELL = '/bin/sh';
const CLEAN = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' } as const;
const TEXT = 'REMORA_VARIABLES';
/** One variable may have 128 KB; a character takes four bytes at most. */
const TEXT_PARTS = /[\s\S]{1,30000}/gu;
/** The descriptor of the pipe. */
const VARIABLES = 3;

const ENTER_GROUP = 'echo 0 > "$0" && exec "$@"';
/** A terminal belongs to the user of the supervisor when it is made; the program could not open it by name. */
const TAKE_TERMINAL = 'chown "$0" "$(tty)" && exec "$@"';
const READ_VARIABLES = `eval "$(cat <&${VARIABLES})" && exec ${VARIABLES}<&- && exec "$@"`;

export interface LaunchRequest {
  readonly cmd: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Undefined when the process stays with the user of the supervisor. */
  readonly user: Pick<UnixUser, 'uid' | 'gid'> | undefined;
  /** The path of a control group to enter before anything else. */
  readonly cgroup: string | undefined;
  /** Words for `setpriv`, beside those that give up root; of no effect without a user. */
  readonly restraint?: readonly string[];
  /** It has the descriptors of a terminal and no other. */
  readonly isTerminal?: boolean;
}

export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** What is written to the pipe; undefined when there is none. */
  readonly variables: string | undefined;
}

export function toLaunch(request: LaunchRequest): Launch {
  const { cmd, args, env, user, cgroup, restraint = [], isTerminal = false } = request;
  const variables = toExports(env);
  const parts = isTerminal ? toParts(variables) : [];
  const read = isTerminal ? toReadText(parts.map(([name]) => name)) : READ_VARIABLES;
  const take = user !== undefined && isTerminal ? [SHELL, '-c', TAKE_TERMINAL, `${user.uid}:${user.gid}`] : [];
  const program = user === undefined ? [cmd, ...args] : [...take, ...asUser(user, restraint, read), cmd, ...args];
  const words = cgroup === undefined ? program : [SHELL, '-c', ENTER_GROUP, `${cgroup}/cgroup.procs`, ...program];
  const [command = SHELL, ...rest] = words;
  if (user === undefined) return { command, args: rest, env, variables: undefined };
  return isTerminal
    ? { command, args: rest, env: { ...CLEAN, ...Object.fromEntries(parts) }, variables: undefined }
    : { command, args: rest, env: CLEAN, variables };
}

/** The words before a command that gives up root, with the groups of the user, and then takes its variables. */
function asUser(
  { uid, gid }: Pick<UnixUser, 'uid' | 'gid'>,
  restraint: readonly string[],
  read: string,
): readonly string[] {
  const user = [`--reuid=${uid}`, `--regid=${gid}`, '--init-groups', '--inh-caps=-all'];
  return ['setpriv', ...user, ...restraint, SHELL, '-c', read, SHELL];
}

/** The text, cut into variables. */
function toParts(text: string): readonly (readonly [name: string, part: string])[] {
  return (text.match(TEXT_PARTS) ?? ['']).map((part, at) => [`${TEXT}_${at}`, part]);
}

function toReadText(names: readonly string[]): string {
  return `eval "${names.map((name) => `$${name}`).join('')}" && unset ${names.join(' ')} && exec "$@"`;
}

function toExports(env: Readonly<Record<string, string>>): string {
  return Object.entries(env)
    .map(([name, value]) => `export ${name}=${toQuotedWord(value)}\n`)
    .join('');
}
