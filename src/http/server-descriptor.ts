// The number of the descriptor on which a server listens. node:net has no method for it; it is read from the server's handle,
// which the documentation of `server.listen` mentions.
import type { Server } from 'node:net';

/** Undefined when the server does not listen. */
export function serverDescriptor(server: Server): number | undefined {
  const handle: unknown = Reflect.get(server, '_handle');
  const fd: unknown = typeof handle === 'object' && handle !== null ? Reflect.get(handle, 'fd') : undefined;
  return typeof fd === 'number' && fd >= 0 ? fd : undefined;
}
