// The file from which systemd takes variables for the agent, read by the agent itself when its settings are read again: the variables
// of a process are those of its start.
import { existsSync, readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';

/** Names the file, in the environment of the agent. */
export const ENVIRONMENT_FILE = 'REMORA_ENVIRONMENT_FILE';
const PREFIX = 'REMORA_';

type Variables = Readonly<Record<string, string | undefined>>;

/** The settings in the file; none without a file. Throws when it cannot be read. */
export function readEnvironmentFile(path: string | undefined): Variables {
  if (path === undefined || !existsSync(path)) return {};
  const all = Object.entries(parseEnv(readFileSync(path, 'utf8')));
  return Object.fromEntries(all.filter(([name]) => name.startsWith(PREFIX)));
}

/** What `env` would be if the process were started now: `before` is the file of its start, `now` the file of this moment. Pure. */
export function toPresentVariables(env: Variables, before: Variables, now: Variables): Variables {
  const others = Object.entries(env).filter(([name]) => !Object.hasOwn(before, name));
  return { ...Object.fromEntries(others), ...now };
}
