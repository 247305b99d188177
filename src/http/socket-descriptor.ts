// The number of the descriptor of a socket, whether it listens or is a connection. node:net has no method for it; it is read from the
// handle, which the documentation of `server.listen` mentions.
import type { Server, Socket } from 'node:net';

/** Undefined when the socket is not open. */
export function socketDescriptor(socket: Server | Socket): number | undefined {
  const handle: unknown = Reflect.get(socket, '_handle');
  const fd: unknown = typeof handle === 'object' && handle !== null ? Reflect.get(handle, 'fd') : undefined;
  return typeof fd === 'number' && fd >= 0 ? fd : undefined;
}
