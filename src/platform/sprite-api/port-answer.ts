// What a port sends to the caller at a WebSocket.
import { Writable } from 'node:stream';
import type { WebSocket } from 'ws';

const LAST_PING = 'end';

/**
 * Drops what comes once the caller is gone: a write that failed would cut what the caller had sent and the port has not read yet. The end
 * closes the WebSocket when the caller has taken everything, because ws gives up 30 s after a close. A break cuts it.
 */
export function createPortAnswer(socket: WebSocket): Writable {
  return new Writable({
    write(chunk: Buffer, _encoding, callback) {
      if (socket.readyState === socket.OPEN) socket.send(chunk, () => callback());
      else callback();
    },
    final(callback) {
      closeWhenTaken(socket);
      callback();
    },
    destroy(error, callback) {
      if (error !== null) socket.terminate();
      callback(error);
    },
  });
}

/** A caller answers a ping once it has read all bytes before it. */
function closeWhenTaken(socket: WebSocket): void {
  if (socket.readyState !== socket.OPEN) return;
  socket.on('pong', (data) => {
    if (String(data) === LAST_PING) socket.close();
  });
  socket.ping(LAST_PING);
}
