// Puts a joiner between a socket and its parser: it makes one piece of the small chunks in each read. A read of many small chunks
// costs more time than its bytes are worth, even joined. So only one such read is taken in each turn of the event loop, over all
// connections, which leaves the rest of the turn to everything else.
import type { Socket } from 'node:net';

export interface Joiner {
  push(read: Buffer): Buffer;
  /** Whether the last read was cut so finely that the next one has to wait. */
  readonly isFine: boolean;
  /** The part of the last read that has to wait until `resume`; undefined for none. */
  takeRest?(): Buffer | undefined;
  /** The bytes that are left at the end of the connection. */
  takeLast?(): readonly Buffer[];
}

const waiting: (() => void)[] = [];

function defer(run: () => void): void {
  if (waiting.length === 0) setImmediate(next);
  waiting.push(run);
}

function next(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(next);
}

/** Sends every later read of `socket` through `joiner`. `resume` of the result goes on with the bytes that had to wait. */
export function joinReads(socket: Socket, joiner: Joiner): { readonly resume: () => void } {
  const push = socket.push.bind(socket);
  const held: (Buffer | null)[] = [];
  let isBlocked = false;

  function pass(chunk: Buffer | null): boolean {
    if (chunk === null) {
      for (const bytes of joiner.takeLast?.() ?? []) push(bytes);
      return push(null);
    }
    const bytes = joiner.push(chunk);
    const rest = joiner.takeRest?.();
    if (rest !== undefined) {
      held.unshift(rest);
      isBlocked = true;
    }
    const isRoomy = push(bytes);
    return isRoomy && rest === undefined;
  }

  function passHeld(): void {
    if (isBlocked || socket.destroyed) return;
    const chunk = held.shift();
    if (chunk !== undefined) pass(chunk);
    if (held.length > 0 && !isBlocked) defer(passHeld);
  }

  socket.push = (chunk: Buffer | null) => {
    if (held.length === 0 && !joiner.isFine) return pass(chunk);
    held.push(chunk);
    if (held.length === 1) defer(passHeld);
    // Reading stops until these bytes have been passed on.
    return false;
  };

  return {
    resume() {
      if (!isBlocked) return;
      isBlocked = false;
      defer(passHeld);
    },
  };
}
