// Makes one connection of two, with back-pressure. Each direction ends by itself; what breaks off on one side breaks off on the other, so
// that nobody takes a part for the whole.
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { breakOff } from '../../http/break-off.ts';
import { TCP_KEEP_ALIVE_MS } from '../../http/tcp-keep-alive.ts';

/** How long the last bytes of one side may take to reach the other, once the first is closed. */
const FLUSH_MS = 30_000;

/** Resolves when both are closed. */
export function joinPipe(one: Duplex, other: Duplex): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let open = 2;
  for (const each of [one, other]) {
    each.on('error', ignore);
    each.once('close', () => {
      open -= 1;
      if (open === 0) resolve();
    });
    if (each instanceof Socket) each.setNoDelay(true).setKeepAlive(true, TCP_KEEP_ALIVE_MS).setTimeout(0);
  }
  passOn(one, other);
  passOn(other, one);
  for (const each of [one, other]) each.resume();
  return promise;
}

function passOn(from: Duplex, to: Duplex): void {
  from.on('data', (chunk: Buffer) => {
    if (!to.write(chunk)) from.pause();
  });
  to.on('drain', () => from.resume());
  from.once('end', () => to.end());
  const onClose = () => {
    if (from.readableEnded && from.errored === null) finish(to);
    else breakOff(to);
  };
  if (from.closed) onClose();
  else from.once('close', onClose);
}

/** Nobody reads what it still sends. */
function finish(to: Duplex): void {
  to.resume();
  if (to.destroyed) return;
  if (to.writableFinished) {
    to.destroy();
    return;
  }
  const late = setTimeout(() => breakOff(to), FLUSH_MS);
  to.once('finish', () => to.destroy()).once('close', () => clearTimeout(late));
}

/** A connection that breaks also closes, and the close is what is watched. */
function ignore(): void {}
