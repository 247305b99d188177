// A program in the machine of a world that answers each line with one.
import { createInterface } from 'node:readline';
import type { NetworkWorld } from '../network-world.ts';

/** Returns what says a line to it, and resolves with its answer. */
export function startClient(world: NetworkWorld, words: readonly string[]): (line: string) => Promise<string> {
  const child = world.start(words, { env: { LC_ALL: 'C.UTF-8' } });
  let failed = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    failed += text;
  });
  if (child.stdout === null) throw new Error('it has no output');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return async (line) => {
    child.stdin?.write(`${line}\n`);
    const { value, done } = await lines.next();
    if (done === true) throw new Error(`${words.join(' ')} ended: ${failed}`);
    return value;
  };
}
