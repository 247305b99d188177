// Finds the socket of a command: --socket, REMORA_SOCKET, the installed agent's, or that of a `remora dev` of this user.
import { existsSync } from 'node:fs';
import { readDevRecord } from './dev/read-dev-record.ts';

export const INSTALLED_SOCKET = '/run/remora/remora.sock';

export const socketFlag = {
  type: 'string',
  value: 'PATH',
  summary: `the agent's socket; else REMORA_SOCKET, else ${INSTALLED_SOCKET}, else that of a running \`remora dev\``,
} as const;

/** Always returns a path, even when nothing is there, because the error names it. */
export function findSocketPath(flag: string | undefined, env: NodeJS.ProcessEnv): string {
  if (flag !== undefined && flag !== '') return flag;
  if (env.REMORA_SOCKET !== undefined && env.REMORA_SOCKET !== '') return env.REMORA_SOCKET;
  if (existsSync(INSTALLED_SOCKET)) return INSTALLED_SOCKET;
  return readDevRecord()?.socket ?? INSTALLED_SOCKET;
}
