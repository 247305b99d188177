// Puts a joiner between a socket and its parser: it makes one piece of the small chunks in each read. A read of many small chunks
// costs more time than its bytes are worth, even joined. So only one such read is taken in each turn of the event loop, over all
// connections, which leaves the rest of the turn to everything else. What a joiner lets wait goes on in the same way.
import type { Readable } from 'node:stream';
import { freeBytes } from '../core/free-bytes.ts';
import { inOwnTurn } from './own-turns.ts';

export interface Joiner {
  push(read: Buffer): Buffer;
  /** Whether the last read was cut so finely that the next one has to wait. */
  readonly isFine: boolean;
  /** Whether nobody needs the last read any more, once its reader was given what `push` made of it and has taken that. */
  readonly isSpent?: boolean;
  /** Whether this read has to wait, although nothing before it does. */
  mustWait?(read: Buffer): boolean;
  /** The part of the last read that has to wait until `resume`, with all reads after it; undefined when nothing has to. */
  takeRest?(): Buffer | undefined;
  /** The bytes that are left at the end of the connection. */
  takeLast?(): readonly Buffer[];
}

export interface JoinedReads {
  /** Lets all later bytes wait. */
  readonly pause: () => void;
  /** Goes on with the bytes that had to wait, in turns of their own. */
  readonly resume: () => void;
}

/** Sends every later read of `socket` through `joiner`. */
export function joinReads(socket: Readable, joiner: Joiner): JoinedReads {
  const push = socket.push.bind(socket);
  const held: (Buffer | null)[] = [];
  let isBlocked = false;
  let isQueued = false;

  function pass(chunk: Buffer | null): boolean {
    if (chunk === null) {
      for (const bytes of joiner.takeLast?.() ?? []) push(bytes);
      return push(null);
    }
    const bytes = joiner.push(chunk);
    const rest = joiner.takeRest?.();
    if (rest !== undefined) {
      if (rest.length > 0) held.unshift(rest);
      isBlocked = true;
    }
    const isRoomy = push(bytes);
    if (rest === undefined && joiner.isSpent === true && socket.readableLength === 0) freeBytes(chunk);
    return isRoomy && rest === undefined;
  }

  function queue(): void {
    if (isQueued || isBlocked || held.length === 0) return;
    isQueued = true;
    inOwnTurn(passHeld);
  }

  /**
   * What has waited only because something before it had to goes with that: it may come behind the end of an answer, where the next call would
   * take it for its own.
   */
  function passHeld(): void {
    isQueued = false;
    if (isBlocked || socket.destroyed) return;
    for (let chunk = held.shift(); chunk !== undefined; chunk = held.shift()) {
      pass(chunk);
      const [next] = held;
      if (isBlocked || next === undefined || isCostly(next)) break;
    }
    queue();
  }

  /** Judged by what was passed last as well. */
  function isCostly(chunk: Buffer | null): boolean {
    return joiner.isFine || (chunk !== null && joiner.mustWait?.(chunk) === true);
  }

  function mustWait(chunk: Buffer | null): boolean {
    return isBlocked || held.length > 0 || isCostly(chunk);
  }

  socket.push = (chunk: Buffer | null) => {
    if (!mustWait(chunk)) return pass(chunk);
    held.push(chunk);
    queue();
    // Reading stops until these bytes have been passed on.
    return false;
  };

  return {
    pause() {
      isBlocked = true;
    },
    resume() {
      isBlocked = false;
      queue();
    },
  };
}
