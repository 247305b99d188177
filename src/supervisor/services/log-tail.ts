// The last lines of a log file, from the file that was rotated away too, without holding them in memory.
import { type FileHandle, open } from 'node:fs/promises';
import { errorCode } from '../../core/error-code.ts';
import { createLineFramer } from '../../core/ndjson.ts';

const STEP_BYTES = 64 * 1024;
const LF = 0x0a;

/**
 * Passes on the last `count` lines before `size_bytes` of the file, oldest first, as one list for each step. A missing file has no lines.
 */
export async function readTail(
  path: string,
  size_bytes: number,
  count: number,
  onLines: (lines: readonly string[]) => Promise<void>,
): Promise<void> {
  await using current = await openOrNothing(path);
  await using older = await openOrNothing(`${path}.1`);
  if (count === 0) return;
  const last = await findStart(current.handle, size_bytes, count);
  if (last.lines < count && older.handle !== undefined) {
    const { size } = await older.handle.stat();
    const first = await findStart(older.handle, size, count - last.lines);
    await readLines(older.handle, first.at, size, onLines);
  }
  await readLines(current.handle, last.at, size_bytes, onLines);
}

interface MaybeFile extends AsyncDisposable {
  readonly handle: FileHandle | undefined;
}

async function openOrNothing(path: string): Promise<MaybeFile> {
  try {
    const handle = await open(path, 'r');
    return { handle, [Symbol.asyncDispose]: () => handle.close() };
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
    return { handle: undefined, [Symbol.asyncDispose]: async () => undefined };
  }
}

/** Where the last `count` lines begin, and how many there are, counted from the end. */
async function findStart(
  handle: FileHandle | undefined,
  size_bytes: number,
  count: number,
): Promise<{ at: number; lines: number }> {
  let lines = 0;
  const step = Buffer.allocUnsafe(STEP_BYTES);
  for (let end = size_bytes; handle !== undefined && end > 0; end -= STEP_BYTES) {
    const begin = Math.max(0, end - STEP_BYTES);
    const { bytesRead } = await handle.read(step, 0, end - begin, begin);
    for (let at = step.subarray(0, bytesRead).lastIndexOf(LF); at >= 0; ) {
      if (lines === count) return { at: begin + at + 1, lines };
      lines += 1;
      at = at === 0 ? -1 : step.lastIndexOf(LF, at - 1);
    }
  }
  return { at: 0, lines };
}

async function readLines(
  handle: FileHandle | undefined,
  begin: number,
  end: number,
  onLines: (lines: readonly string[]) => Promise<void>,
): Promise<void> {
  const framer = createLineFramer();
  for (let at = begin; handle !== undefined && at < end; ) {
    const step = Buffer.allocUnsafe(Math.min(STEP_BYTES, end - at));
    const { bytesRead } = await handle.read(step, 0, step.length, at);
    if (bytesRead === 0) return;
    at += bytesRead;
    const lines: string[] = [];
    framer.push(step.subarray(0, bytesRead), (line) => lines.push(line));
    await onLines(lines);
  }
}
