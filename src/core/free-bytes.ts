// Gives the memory of a buffer back at once. Left to the collector, the buffers of a transfer cost more time than the transfer: they lie
// outside the heap, and the collector, which counts them, looks through the whole heap after each dozen megabytes.

/** A smaller one is cheaper left to the collector. */
export const WORTH_BYTES = 8 * 1024;

/**
 * Call it only for bytes that nobody reads any more: they are gone. A buffer that is a part of a larger one stays, because others may have
 * the rest.
 */
export function freeBytes(bytes: Uint8Array): void {
  const { buffer, byteLength } = bytes;
  if (byteLength < WORTH_BYTES || byteLength !== buffer.byteLength || !(buffer instanceof ArrayBuffer)) return;
  buffer.transfer(0);
}
