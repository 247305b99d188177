// The end of an HTTP/2 session that nobody waits for, and what a session that is already destroyed must not be asked.
import type { Http2Session } from 'node:http2';
import type { Duplex } from 'node:stream';

/** How long the last frame may take, which tells the other end. One that reads nothing would hold the connection for ever. */
const LAST_FRAME_MS = 1_000;

export function destroySession(session: Http2Session, connection: Duplex): void {
  session.destroy();
  if (connection.destroyed) return;
  const timer = setTimeout(() => connection.destroy(), LAST_FRAME_MS);
  timer.unref();
  connection.once('close', () => clearTimeout(timer));
}

/** Sets how much may be on its way to this end, over all streams. A session that was destroyed emits `connect` too, and would throw. */
export function setSessionWindow(session: Http2Session, window_bytes: number): void {
  session.once('connect', () => {
    if (!session.destroyed) session.setLocalWindowSize(window_bytes);
  });
}
