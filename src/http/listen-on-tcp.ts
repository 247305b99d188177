// Opens a listener on TCP: on any address, or on loopback only.
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isLoopback } from './is-loopback.ts';
import { ListenError, toListenError } from './listen-error.ts';
import { BACKLOG, startListening } from './start-listening.ts';

/** Listens on a loopback address. Port 0 takes a free one. Any other host throws `not_loopback`. */
export async function listenOnLoopback(server: Server, host: string, port: number): Promise<AddressInfo> {
  const refusal = () =>
    new ListenError('not_loopback', `${host} is not a loopback address; listen on 127.0.0.1 or ::1`);
  if (!isLoopback(host)) throw refusal();
  const address = await listenOnTcp(server, host, port);
  if (isLoopback(address.address)) return address;
  await new Promise((resolve) => server.close(resolve));
  throw refusal();
}

/** Listens on any TCP address, for the platform. */
export async function listenOnTcp(server: Server, host: string, port: number): Promise<AddressInfo> {
  const bare = host.replace(/^\[(.*)\]$/, '$1');
  const name = `${bare.includes(':') ? `[${bare}]` : bare}:${port}`;
  try {
    await startListening(server, () => server.listen({ host: bare, port, backlog: BACKLOG }));
  } catch (error) {
    throw toListenError(error, `cannot listen on ${name}`);
  }
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('a TCP listener has no address');
  return address;
}
