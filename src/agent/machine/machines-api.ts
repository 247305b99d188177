// Where the machines API is and how to call it: over a Unix socket without a token, or at a URL with one (Suspend and Replication,
// Authentication).
import type { Dispatcher } from 'undici';
import type { Secret } from '../../core/secret.ts';
import type { Config } from '../config/load-config.ts';
import type { Upstream } from '../upstream.ts';

/** The socket accepts any host name; this is the one in the examples of Fly.io. */
const SOCKET_ORIGIN = 'http://flaps';

export interface MachinesApi {
  readonly origin: string;
  readonly socketPath: string | undefined;
  headers(): Record<string, string>;
  dispatcher(): Dispatcher;
}

export interface MachinesApiOptions {
  readonly address: NonNullable<Config['machinesApi']>;
  readonly token: Secret | undefined;
  readonly upstream: Upstream;
  readonly identity: () => Record<string, string>;
}

export function createMachinesApi(options: MachinesApiOptions): MachinesApi {
  const { address, token, upstream, identity } = options;
  if ('socketPath' in address) {
    const { socketPath } = address;
    return { origin: SOCKET_ORIGIN, socketPath, headers: identity, dispatcher: () => upstream.overSocket(socketPath) };
  }
  const headers = () =>
    token === undefined ? identity() : { ...identity(), authorization: `Bearer ${token.reveal()}` };
  return { origin: address.origin, socketPath: undefined, headers, dispatcher: () => upstream.dispatcher };
}
