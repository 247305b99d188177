// Notices that the other end of an HTTP/2 session is gone: a peer that is stopped or unreachable leaves its pings unanswered, and
// nothing else shows it.
import type { Http2Session } from 'node:http2';

export interface PingOptions {
  readonly interval_ms: number;
  /** So many pings without an answer end the session. */
  readonly missed: number;
  /** Whether this end reads nothing for now: no answer could arrive. */
  readonly isDeaf?: () => boolean;
}

/**
 * Pings until the session is closed. `onGone` runs once, and has to destroy the session. A ping of the peer is a sign of it as well: the
 * peer may be unable to read an answer, and still be there.
 */
export function pingSession(
  session: Http2Session,
  { interval_ms, missed, isDeaf = () => false }: PingOptions,
  onGone: () => void,
): void {
  let unanswered = 0;
  let ticks = 0;
  const onSign = () => {
    unanswered = 0;
  };
  const timer = setInterval(() => {
    // It closes only once its connection has, and a ping would throw until then.
    if (session.destroyed) return;
    if (isDeaf()) {
      onSign();
      ticks += 1;
      // One in two: only so many may be unanswered, and a peer that waits for two of its own gets a sign in time.
      if (ticks % 2 === 0) return;
    }
    if (unanswered >= missed) {
      clearInterval(timer);
      onGone();
      return;
    }
    unanswered += 1;
    session.ping((error) => {
      if (error === null) onSign();
    });
  }, interval_ms);
  timer.unref();
  session.on('ping', onSign);
  session.once('close', () => clearInterval(timer));
}
