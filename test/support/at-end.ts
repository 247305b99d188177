// What a test opens is closed at its end. What several tests of a file share is opened once, and closed after the last of them.
import { AsyncLocalStorage } from 'node:async_hooks';
import { afterAll, beforeAll, onTestFinished } from 'vitest';

type End = () => unknown;

const sharedEnds = new AsyncLocalStorage<End[]>();

/** Runs `end` when the test ends; within `openOnce`, after the tests that share. The last one comes first. */
export function atEnd(end: End): void {
  const ends = sharedEnds.getStore();
  if (ends === undefined) onTestFinished(async () => void (await end()));
  else ends.push(end);
}

/** Where there is no test: `end` closes what is opened. */
export async function openApart<T>(open: () => Promise<T>): Promise<{ readonly value: T; end(): Promise<void> }> {
  const ends: End[] = [];
  const end = async () => {
    for (const each of ends.splice(0).toReversed()) await each();
  };
  try {
    return { value: await sharedEnds.run(ends, open), end };
  } catch (error) {
    await end();
    throw error;
  }
}

/** Call it in a `describe` or at the top of a file. The result is for its tests. `limit_ms`: how long it may take, where that is long. */
export function openOnce<T>(open: () => Promise<T>, limit_ms?: number): () => T {
  const ends: End[] = [];
  let opened: { readonly value: T } | undefined;
  beforeAll(async () => {
    opened = { value: await sharedEnds.run(ends, open) };
  }, limit_ms);
  afterAll(async () => {
    for (const end of ends.toReversed()) await end();
  }, limit_ms);
  return () => {
    if (opened === undefined) throw new Error('it is opened before the first test, not before');
    return opened.value;
  };
}
