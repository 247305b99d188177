// One file of /proc or /sys that is read again and again from an open descriptor. Never throws: a file that cannot be read is
// undefined, and is opened again at most every ten seconds.
import { closeSync, openSync, readSync } from 'node:fs';

export const REOPEN_MS = 10_000;
/** Far more than any of these files needs: the line that is sought comes earlier. */
const CAP_BYTES = 256 * 1024;
const CHUNK_BYTES = 16 * 1024;

export interface KeptFile extends Disposable {
  /** The text from the start, as Latin-1; reading stops once `enough` is true for the text so far. */
  read(enough?: (text: string) => boolean): string | undefined;
}

/** Opens at the first reading. */
export function createKeptFile(path: string, mono_ms: () => number): KeptFile {
  const chunk = Buffer.alloc(CHUNK_BYTES);
  let descriptor: number | undefined;
  let retryAt_ms = Number.NEGATIVE_INFINITY;

  function close(): void {
    if (descriptor === undefined) return;
    closeQuietly(descriptor);
    descriptor = undefined;
  }

  function readAll(from: number, enough: (text: string) => boolean): string {
    let text = '';
    while (text.length < CAP_BYTES && !enough(text)) {
      const read_bytes = readSync(from, chunk, 0, chunk.length, text.length);
      if (read_bytes === 0) break;
      text += chunk.toString('latin1', 0, read_bytes);
    }
    return text;
  }

  return {
    read(enough = isWhole) {
      if (descriptor === undefined) {
        if (mono_ms() < retryAt_ms) return undefined;
        retryAt_ms = mono_ms() + REOPEN_MS;
      }
      try {
        descriptor ??= openSync(path, 'r');
        return readAll(descriptor, enough);
      } catch {
        close();
        return undefined;
      }
    },
    [Symbol.dispose]: close,
  };
}

/** True for a file of one short line that ends with a line feed. */
function isWhole(text: string): boolean {
  return text.endsWith('\n');
}

export function closeQuietly(descriptor: number): void {
  try {
    closeSync(descriptor);
  } catch {
    // The kernel has removed the file with its device; there is nothing left to close.
  }
}
