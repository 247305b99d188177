// Where the machines API is and how to call it: over a Unix socket without a token, or at a URL with one (Suspend and Replication,
// Authentication).
import { type Client, createClient } from '../../client/client.ts';
import { machineOperations } from '../../contract/machines.ts';
import type { Secret } from '../../core/secret.ts';
import type { Config } from '../config/load-config.ts';
import type { Upstream } from '../upstream.ts';

/** The socket accepts any host name; this is the one in the examples of Fly.io. */
const SOCKET_ORIGIN = 'http://flaps';

/** Where it is, with its headers. */
export interface MachinesApiAddress {
  /** A path in it stands before those of the operations. */
  readonly origin: string;
  readonly socketPath: string | undefined;
  headers(): Record<string, string>;
}

export interface MachinesApi extends MachinesApiAddress {
  readonly client: Client<typeof machineOperations>;
}

export interface MachinesApiOptions {
  readonly address: NonNullable<Config['machinesApi']>;
  readonly token: Secret | undefined;
  readonly upstream: Upstream;
  readonly identity: () => Record<string, string>;
}

export function createMachinesApi(options: MachinesApiOptions): MachinesApi {
  const { upstream } = options;
  const address = toAddress(options);
  const { headers, origin, socketPath } = address;
  const dispatcher = (): Upstream['dispatcher'] =>
    socketPath === undefined ? upstream.dispatcher : upstream.overSocket(socketPath);
  return { ...address, client: createClient(machineOperations, { origin, dispatcher, headers }) };
}

function toAddress({ address, token, identity }: MachinesApiOptions): MachinesApiAddress {
  if ('socketPath' in address) return { origin: SOCKET_ORIGIN, socketPath: address.socketPath, headers: identity };
  const headers = () =>
    token === undefined ? identity() : { ...identity(), authorization: `Bearer ${token.reveal()}` };
  return { origin: address.origin, socketPath: undefined, headers };
}
