// Which socket a command talks to: --socket, REMORA_SOCKET, the installed agent's, or that of a `remora dev` of this user.
import { existsSync, lstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defaultDevDir } from './dev/default-dev-dir.ts';

export const INSTALLED_SOCKET = '/run/remora/remora.sock';

export const socketFlag = {
  type: 'string',
  value: 'PATH',
  summary: `the agent's socket; else REMORA_SOCKET, else ${INSTALLED_SOCKET}, else that of a running \`remora dev\``,
} as const;

/** Always a path, even if nothing is there: the error should name it. */
export function findSocketPath(flag: string | undefined, env: NodeJS.ProcessEnv): string {
  if (flag !== undefined && flag !== '') return flag;
  if (env.REMORA_SOCKET !== undefined && env.REMORA_SOCKET !== '') return env.REMORA_SOCKET;
  if (existsSync(INSTALLED_SOCKET)) return INSTALLED_SOCKET;
  return readDevSocket() ?? INSTALLED_SOCKET;
}

/** The socket named in the default directory of `remora dev`, if that file is this user's own. */
function readDevSocket(): string | undefined {
  const path = join(defaultDevDir(), 'dev.json');
  try {
    const stat = lstatSync(path);
    if (!stat.isFile() || stat.uid !== process.getuid?.()) return undefined;
    const parsed: unknown = JSON.parse(readFileSync(path, 'utf8'));
    if (typeof parsed !== 'object' || parsed === null || !('socket' in parsed)) return undefined;
    return typeof parsed.socket === 'string' ? parsed.socket : undefined;
  } catch {
    return undefined;
  }
}
