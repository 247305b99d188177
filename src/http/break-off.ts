// Ends a connection so that nobody takes what it has carried for the whole.
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** TCP resets; any other stream is destroyed with an error. */
export function breakOff(to: Duplex): void {
  if (to.destroyed) return;
  // Node resets no Unix socket, and none that speaks TLS.
  const isTcp = to instanceof Socket && to.remoteAddress !== undefined && !('encrypted' in to);
  if (isTcp) to.resetAndDestroy();
  else to.destroy(new Error('the other end broke off'));
}
