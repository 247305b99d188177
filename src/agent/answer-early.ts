// Turns for callers while the agent opens its parts, which holds the event loop in pieces.
import { setImmediate as nextTurn } from 'node:timers/promises';

/** A connection is taken, its request read, and the answer written. */
const TURNS = 3;

/** Answers those who have come while the event loop was held. */
export async function answerEarly(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn += 1) await nextTurn();
}
