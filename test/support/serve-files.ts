// The file operations of a supervisor on a Unix socket, for a user of the test, in a directory of the test.
import { chmodSync, chownSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { createEdge } from '../../src/http/edge.ts';
import { listenOnPath } from '../../src/http/listen-on-path.ts';
import type { UnixUser } from '../../src/linux/users.ts';
import { findUser } from '../../src/linux/users.ts';
import { mapFileError } from '../../src/supervisor/files/file-error.ts';
import { type FileModule, openFiles } from '../../src/supervisor/files/files.ts';
import { type RawFileOperations, rawFileOperations } from '../../src/supervisor/files/raw-file-operations.ts';
import { type SupervisorCaller, toSupervisorCaller } from '../../src/supervisor/supervisor-caller.ts';
import { ask, type HttpAnswer } from './ask.ts';
import { silentLog } from './silent-log.ts';
import { tempDir } from './temp-dir.ts';

export interface ServedFiles {
  readonly socket: string;
  /** Belongs to the user. */
  readonly home: string;
  readonly room: FileModule;
  /** `GET`, or another method, of an operation by its last part, with `path` relative to the home. */
  get(operation: string, query?: Readonly<Record<string, string>>, options?: FileAskOptions): Promise<HttpAnswer>;
  put(query: Readonly<Record<string, string>>, body: string | Buffer, options?: FileAskOptions): Promise<HttpAnswer>;
  post(operation: string, body: Readonly<Record<string, unknown>>, options?: FileAskOptions): Promise<HttpAnswer>;
}

export interface FileAskOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What the agent says of a caller that may act as root. */
export const asRootAllowed = { 'remora-as-root': 'allowed' };

export const isRoot = process.geteuid?.() === 0;

/** A user who is not this one; this one where it cannot become another. */
export function otherUser(): UnixUser {
  const user = isRoot ? findUser('nobody') : ownUser();
  if (user === undefined) throw new Error('there is no user nobody');
  return user;
}

export function ownUser(): UnixUser {
  const { geteuid, getegid } = process;
  const [uid, gid] = [geteuid?.() ?? 0, getegid?.() ?? 0];
  return findUser(String(uid)) ?? { name: String(uid), uid, gid, home: '/', shell: '/bin/sh' };
}

export async function serveFiles(user: UnixUser = ownUser(), userProcessIdle_ms = 60_000): Promise<ServedFiles> {
  const dir = tempDir();
  chmodSync(dir, 0o755);
  const [stateDir, home] = [join(dir, 'state'), join(dir, 'home')];
  mkdirSync(stateDir, { mode: 0o700 });
  mkdirSync(home);
  if (isRoot) chownSync(home, user.uid, user.gid);
  const room = openFiles({ stateDir, user, log: silentLog, userProcessIdle_ms });
  const edge = createEdge<RawFileOperations, SupervisorCaller>({
    operations: rawFileOperations,
    handlers: room.handlers,
    authenticate: (request) => toSupervisorCaller(request),
    mapError: mapFileError,
    log: silentLog,
  });
  const socket = join(dir, 's');
  const listening = await listenOnPath(edge.createServer('supervisor'), { path: socket, mode: 0o600 });
  onTestFinished(async () => {
    await edge.drain(0);
    listening[Symbol.dispose]();
    await room[Symbol.asyncDispose]();
  });
  const target = (operation: string, query: Readonly<Record<string, string>>) =>
    `/v1/fs/${operation}?${new URLSearchParams({ workingDir: home, ...query })}`;
  return {
    socket,
    home,
    room,
    get: (operation, query = {}, options = {}) => ask(socket, { target: target(operation, query), ...options }),
    put: (query, body, options = {}) =>
      ask(socket, { method: 'PUT', target: target('write', query), body, ...options }),
    post: (operation, body, { headers = {} } = {}) =>
      ask(socket, {
        method: 'POST',
        target: `/v1/fs/${operation}`,
        body: JSON.stringify({ workingDir: home, ...body }),
        headers: { 'content-type': 'application/json', ...headers },
      }),
  };
}
