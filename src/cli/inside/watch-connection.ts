// Keeps a WebSocket to a sprite alive, and notices when the far end is gone without a word.
import type { WebSocket } from 'ws';

/** The far end sends a ping each 15 s. */
const SILENCE_MS = 45_000;
const LOOK_MS = 5_000;

/** `isBlocked`: nothing is read here for now, so that silence says nothing. `onSilence` may run several times. */
export function watchConnection(socket: WebSocket, isBlocked: () => boolean, onSilence: () => void): Disposable {
  let heard_ms = performance.now();
  const hear = () => {
    heard_ms = performance.now();
  };
  socket.on('ping', hear).on('message', hear);
  const looking = setInterval(() => {
    if (isBlocked()) hear();
    // While nothing is read here no ping is answered; this says all the same that somebody is there.
    if (socket.readyState === socket.OPEN) socket.pong(undefined, undefined, () => undefined);
    if (performance.now() - heard_ms > SILENCE_MS) onSilence();
  }, LOOK_MS);
  return {
    [Symbol.dispose]() {
      clearInterval(looking);
      socket.off('ping', hear).off('message', hear);
    },
  };
}
