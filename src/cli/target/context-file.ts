// The file that `remora login` writes: the address of a platform and a token, readable by this user alone.
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { Secret } from '../../core/secret.ts';

export interface Context {
  readonly url: string;
  readonly token: Secret;
}

const form = z.object({ url: z.string(), token: z.string() });

/** `$XDG_CONFIG_HOME/remora/context.json`, else below `~/.config`. */
export function contextPath(env: NodeJS.ProcessEnv): string {
  const { XDG_CONFIG_HOME: given } = env;
  const home = given === undefined || !given.startsWith('/') ? join(env.HOME ?? homedir(), '.config') : given;
  return join(home, 'remora', 'context.json');
}

/** Undefined when there is none. Throws for a file that others may read or that cannot be understood. */
export function readContext(env: NodeJS.ProcessEnv): Context | undefined {
  const path = contextPath(env);
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return undefined;
  if ((stat.mode & 0o077) !== 0 || stat.uid !== process.getuid?.()) {
    throw new Error(`${path} holds a token and is open to others; remove it and use \`remora login\` again`);
  }
  const parsed = form.safeParse(parseJson(readFileSync(path, 'utf8')));
  if (!parsed.success) throw new Error(`${path} cannot be read; remove it and use \`remora login\` again`);
  return { url: parsed.data.url, token: new Secret(parsed.data.token) };
}

/** Writes the file at once as a whole. Returns its path. */
export function writeContext(env: NodeJS.ProcessEnv, { url, token }: Context): string {
  const path = contextPath(env);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const early = `${path}.${process.pid}`;
  rmSync(early, { force: true });
  writeFileSync(early, `${JSON.stringify({ url, token: token.reveal() })}\n`, { mode: 0o600, flag: 'wx' });
  renameSync(early, path);
  return path;
}

/** False when there was none. */
export function removeContext(env: NodeJS.ProcessEnv): boolean {
  const path = contextPath(env);
  const isThere = statSync(path, { throwIfNoEntry: false }) !== undefined;
  rmSync(path, { force: true });
  return isThere;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
