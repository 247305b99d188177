// Notices that the other end of an HTTP/2 session is gone: a peer that is stopped or unreachable leaves its pings unanswered, and
// nothing else shows it.
import type { Http2Session } from 'node:http2';

export interface PingOptions {
  readonly interval_ms: number;
  /** So many pings without an answer end the session. */
  readonly missed: number;
}

/** Pings until the session is closed. `onGone` runs once, before the session is destroyed. */
export function pingSession(session: Http2Session, { interval_ms, missed }: PingOptions, onGone: () => void): void {
  let unanswered = 0;
  const timer = setInterval(() => {
    // One that is destroyed closes only when the other end has read its last frame.
    if (session.destroyed) {
      clearInterval(timer);
      return;
    }
    if (unanswered >= missed) {
      clearInterval(timer);
      onGone();
      session.destroy();
      return;
    }
    unanswered += 1;
    session.ping((error) => {
      if (error === null) unanswered = 0;
    });
  }, interval_ms);
  timer.unref();
  session.once('close', () => clearInterval(timer));
}
