// The ends of a connection here and of the WebSocket that leads to a port in a sprite.
import { once } from 'node:events';
import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';

/** How long the far end may send nothing after the client here has ended its sending. */
const QUIET_MS = 10_000;
const LOOK_MS = 500;
const NORMAL = 1000;
const NO_CODE = 1005;

/**
 * Sends what the client sends. Resolves when both are closed. `local` allows a half-open connection. A WebSocket has no half-closed state,
 * and the Sprites API has no frame for an end. When the client ends its sending, the far end learns nothing of it yet, and what it sends
 * is delivered; the WebSocket is closed, so that the far end sees the end, once all bytes are taken and 10 s have passed in which nothing
 * came. When the far end ends, all that it sent is delivered, and what the client still sends is dropped. A WebSocket that breaks off
 * resets `local`, so that no client takes a part for the whole.
 */
export async function joinEnds(socket: WebSocket, local: Socket): Promise<void> {
  const { promise: closed, resolve } = Promise.withResolvers<number>();
  socket.once('close', resolve);
  if (socket.readyState === socket.CLOSED) return;
  sendAll(local, socket).then(
    () => closeWhenQuiet(socket, local),
    () => socket.terminate(),
  );
  const code = await closed;
  if (code !== NORMAL && code !== NO_CODE) local.resetAndDestroy();
  else await end(local);
}

/** Resolves when the client has ended its sending. Throws when the connection breaks off before. */
async function sendAll(local: Socket, socket: WebSocket): Promise<void> {
  for await (const part of local.iterator({ destroyOnReturn: false })) {
    // What nobody takes is read all the same: a connection that closes with unread bytes resets the client, which loses its answer.
    if (socket.readyState !== socket.OPEN) continue;
    await new Promise<void>((resolve) => socket.send(part, () => resolve()));
  }
}

/** Pings until the far end answers: it reads a ping after all bytes before it, and ws gives up 30 s after a close. */
function closeWhenQuiet(socket: WebSocket, local: Socket): void {
  if (socket.readyState !== socket.OPEN) return;
  let isTaken = false;
  let heard_ms = performance.now();
  const hear = () => {
    heard_ms = performance.now();
  };
  const look = () => {
    if (!isTaken) socket.ping(undefined, undefined, ignore);
    if (!isTaken || (socket.isPaused && !local.destroyed)) hear();
    else if (local.destroyed || performance.now() - heard_ms >= QUIET_MS) socket.close(NORMAL);
  };
  socket.on('message', hear).once('pong', () => {
    isTaken = true;
  });
  const looking = setInterval(look, LOOK_MS);
  socket.once('close', () => clearInterval(looking));
  look();
}

/** Resolves when the connection is closed: by the client, or some time after it was given all bytes. */
async function end(local: Socket): Promise<void> {
  if (local.closed) return;
  let timer: NodeJS.Timeout | undefined;
  local.once('finish', () => {
    timer = setTimeout(() => local.destroy(), QUIET_MS);
  });
  local.end();
  await once(local, 'close').catch(ignore);
  clearTimeout(timer);
}

function ignore(): void {}
