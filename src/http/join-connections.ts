// Makes one connection of two: what one sends the other gets, with back-pressure, and the end of one is the end of the other.
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { freeBytes } from '../core/free-bytes.ts';

export function joinConnections(one: Duplex, other: Duplex): void {
  for (const each of [one, other]) {
    each.on('error', ignore);
    if (each instanceof Socket) each.setNoDelay(true).setTimeout(0);
  }
  passOn(one, other);
  passOn(other, one);
  for (const each of [one, other]) each.resume();
}

function passOn(from: Duplex, to: Duplex): void {
  const isOwner = to instanceof Socket;
  from.on('data', (bytes: Buffer) => {
    const isRoomy = to.write(bytes, () => {
      if (isOwner) freeBytes(bytes);
    });
    if (!isRoomy) from.pause();
  });
  to.on('drain', () => from.resume());
  from.once('end', () => to.end());
  // Without an end it broke off, and what it has sent must not look whole.
  from.once('close', () => {
    if (!from.readableEnded || to.writableFinished) to.destroy();
  });
}

/** A connection that breaks also closes, and the close is what is watched. */
function ignore(): void {}
