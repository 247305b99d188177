// How far the heap of a platform process may grow between two full collections. Left to itself, V8 adds a few megabytes to the small heap
// of a platform, and counts the buffers of everything that passes: a transfer would cause a full collection, of 10 ms and more, for each
// ten megabytes, and take twice the time for it.
import { setFlagsFromString } from 'node:v8';

/** Three times what was in use after the last one, as V8 itself lets large heaps grow. */
const GROWTH_PERCENT = 200;

/** Call it before the first full collection. */
export function letHeapGrow(): void {
  setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`);
}
