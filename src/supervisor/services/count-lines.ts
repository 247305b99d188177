// How many lines end within the first bytes of some buffers. Pure.
const LF = 0x0a;

export function countLines(parts: readonly Buffer[], limit_bytes: number): number {
  let count = 0;
  let left_bytes = limit_bytes;
  for (const part of parts) {
    const bytes = part.subarray(0, left_bytes);
    for (let at = bytes.indexOf(LF); at >= 0; at = bytes.indexOf(LF, at + 1)) count += 1;
    left_bytes -= bytes.length;
  }
  return count;
}
