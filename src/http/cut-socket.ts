// Closes a connection before anybody deals with its end. What follows from the end of a connection is much code, which a machine that
// was just restored runs for the first time; the close itself is one call of the kernel.
import type { Duplex } from 'node:stream';

/**
 * The connection is closed when this returns: it sends and takes nothing more. Who listens to it learns of that, and of `error`, when the
 * result is called. A connection that was closed before is left as it is.
 */
export function cutSocket(socket: Duplex, error?: Error): () => void {
  if (socket.destroyed) return () => undefined;
  const { emit } = socket;
  const held: Parameters<Duplex['emit']>[] = [];
  socket.emit = (...event: Parameters<Duplex['emit']>) => held.push(event) > 0;
  socket.destroy(error);
  return () => {
    socket.emit = emit;
    for (const event of held) socket.emit(...event);
  };
}
