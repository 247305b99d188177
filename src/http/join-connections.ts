// Makes one connection of two: what one sends the other gets, with back-pressure, and the end of one is the end of the other. While others
// wait for the same processors it takes short steps.
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { freeBytes } from '../core/free-bytes.ts';
import { breakOff } from './break-off.ts';

/** So much is passed on, then it rests. */
const STEP_BYTES = 128 * 1024;
const REST_MS = 1;

/** `mayHurry`: whether nobody else waits. */
export function joinConnections(one: Duplex, other: Duplex, mayHurry: () => boolean): void {
  for (const each of [one, other]) {
    each.on('error', ignore);
    if (each instanceof Socket) each.setNoDelay(true).setTimeout(0);
  }
  passOn(one, other, mayHurry);
  passOn(other, one, mayHurry);
  for (const each of [one, other]) each.resume();
}

function passOn(from: Duplex, to: Duplex, mayHurry: () => boolean): void {
  const isOwner = to instanceof Socket;
  let step_bytes = 0;
  const goOn = () => {
    if (!to.writableNeedDrain) from.resume();
  };
  from.on('data', (bytes: Buffer) => {
    const isRoomy = to.write(bytes, () => {
      if (isOwner) freeBytes(bytes);
    });
    step_bytes += bytes.length;
    if (!isRoomy) from.pause();
    if (step_bytes < STEP_BYTES) return;
    step_bytes = 0;
    if (mayHurry()) return;
    from.pause();
    setTimeout(goOn, REST_MS);
  });
  to.on('drain', () => from.resume());
  from.once('end', () => to.end());
  // One that has no end broke off, and what it has sent must not look whole.
  from.once('close', () => {
    if (!from.readableEnded || from.errored !== null) breakOff(to);
    else if (to.writableFinished) to.destroy();
  });
}

/** A connection that breaks also closes, and the close is what is watched. */
function ignore(): void {}
