// The typed client of a platform for commands: over HTTP with a token, over the platform's own socket, or, when the platform does not
// run, on its database.
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type Client, createClient } from '../../client/client.ts';
import { UpstreamError } from '../../client/upstream-error.ts';
import { OPERATOR_SOCKET, ORGANIZATION_HEADER } from '../../contract/organizations.ts';
import { platformOperations } from '../../contract/platform-operations.ts';
import type { Secret } from '../../core/secret.ts';
import type { Invocation } from '../command.ts';
import { UnreachableError, UsageError } from '../exit-code.ts';
import { openConnections } from '../open-connections.ts';
import { findTarget } from './target.ts';

export type PlatformClient = Client<typeof platformOperations>;

/** The limit of one call; a command that waits sets a longer one. */
const TIMEOUT_MS = 60_000;

/** Resolves as `work` does. Throws UnreachableError when nobody answers, and UsageError as `findTarget` does. */
export async function askPlatform<T>(invocation: Invocation, work: (client: PlatformClient) => Promise<T>): Promise<T> {
  await using stack = new AsyncDisposableStack();
  const target = findTarget(invocation);
  const organization = invocation.text('organization');
  if (target.type === 'remote') {
    if (organization !== undefined) {
      throw new UsageError(
        "--organization is for the platform's own machine; elsewhere the token says which one it is",
      );
    }
    return await askRemote(target, stack, work);
  }
  const socketPath = await openSocket(resolve(target.dir), invocation, stack);
  const connections = stack.use(openConnections(socketPath));
  const client = createClient(platformOperations, {
    origin: 'http://platform',
    dispatcher: () => connections,
    timeout_ms: TIMEOUT_MS,
    ...(organization === undefined ? {} : { headers: () => ({ [ORGANIZATION_HEADER]: organization }) }),
  });
  return await work(client);
}

/** Runs `work` with a client that sends one token, at the address of a platform. */
export async function askRemote<T>(
  { url, token }: { readonly url: string; readonly token: Secret },
  stack: AsyncDisposableStack,
  work: (client: PlatformClient) => Promise<T>,
): Promise<T> {
  const connections = stack.use(openConnections());
  const client = createClient(platformOperations, {
    origin: url,
    dispatcher: () => connections,
    timeout_ms: TIMEOUT_MS,
    headers: () => ({ authorization: `Bearer ${token.reveal()}` }),
  });
  try {
    return await work(client);
  } catch (error) {
    if (!(error instanceof UpstreamError) || error.status !== undefined) throw error;
    if (error.code !== 'connection_failed' && error.code !== 'timeout') throw error;
    throw new UnreachableError(`no platform answers at ${url}: ${error.message}`, { cause: error });
  }
}

/** The socket of the platform that serves `dir`, or one on which its database is served for as long as this command runs. */
async function openSocket(dir: string, invocation: Invocation, stack: AsyncDisposableStack): Promise<string> {
  const own = join(dir, OPERATOR_SOCKET);
  if (existsSync(own) && (await isServed(own))) return own;
  const { openAdmin } = await import('../platform/open-admin.ts');
  const offline = stack.use(await openAdmin(invocation, dir));
  const place = mkdtempSync(join(tmpdir(), 'remora-'));
  stack.defer(() => rmSync(place, { recursive: true, force: true }));
  const path = join(place, OPERATOR_SOCKET);
  stack.use(await offline.serveOn(path));
  return path;
}

/** False for a socket file that nobody listens on. Throws UnreachableError when this user may not connect. */
function isServed(path: string): Promise<boolean> {
  return new Promise((settle, reject) => {
    const socket = connect({ path });
    socket.once('connect', () => {
      socket.destroy();
      settle(true);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED' || error.code === 'ENOENT') settle(false);
      else reject(new UnreachableError(`this user may not operate this platform (tried ${path}): ${error.message}`));
    });
  });
}
