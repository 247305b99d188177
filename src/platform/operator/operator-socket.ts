// The platform's own socket, for its operator: the file's mode decides who may connect, and every caller counts as the operator.
import type { Server } from 'node:http';
import { join } from 'node:path';
import type { PlatformListenerName } from '../../contract/listeners.ts';
import { OPERATOR_SOCKET } from '../../contract/organizations.ts';
import type { Log } from '../../core/log.ts';
import { ListenError } from '../../http/listen-error.ts';
import { listenOnPath } from '../../http/listen-on-path.ts';

/** The name of this listener at the edge. */
export const OPERATOR_LISTENER = 'operator' satisfies PlatformListenerName;

/** Listens in the directory of the platform, for its user alone. A path too long for a socket is logged, and nothing is opened. */
export async function listenForOperator(server: Server, dir: string, log: Log): Promise<Disposable> {
  try {
    return await listenOnPath(server, { path: join(dir, OPERATOR_SOCKET), mode: 0o600 });
  } catch (error) {
    if (!(error instanceof ListenError) || error.code !== 'path_too_long') throw error;
    log.error(
      { dir },
      'the path of the directory is too long for the socket of the operator; commands use the database',
    );
    return { [Symbol.dispose]: () => undefined };
  }
}
