// Cuts the bytes of lines into slices of little work, so that who reads them can let others run in between: a short line costs nearly
// as much as a long one, so that lines are counted as well as bytes. Pure.

/** Each of up to a hundred readers gets a copy of a slice. */
const SLICE_BYTES = 32 * 1024;
/** So many lines take about a millisecond to parse and record. */
const SLICE_LINES = 256;
const LF = 0x0a;

/** The slices in order; together they are the chunk. One ends after its last line that ends, or where it has enough bytes. */
export function* toLineSlices(chunk: Uint8Array): Generator<Uint8Array> {
  let start = 0;
  while (start < chunk.length) {
    const stop = endOfLines(chunk, start, Math.min(start + SLICE_BYTES, chunk.length));
    yield chunk.subarray(start, stop);
    start = stop;
  }
}

/** The end of the line with which a slice from `start` has enough of them; `limit` when it has fewer. */
function endOfLines(chunk: Uint8Array, start: number, limit: number): number {
  let lines = 0;
  for (let at = chunk.indexOf(LF, start); at >= 0 && at < limit; at = chunk.indexOf(LF, at + 1)) {
    lines += 1;
    if (lines === SLICE_LINES) return at + 1;
  }
  return limit;
}
