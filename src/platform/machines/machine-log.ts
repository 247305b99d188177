// The log of a machine's agent as a stream of lines: the newest ones in the file, then new ones as they are written.
import { open } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorCode } from '../../core/error-code.ts';

export interface LogReading {
  /** How many lines to begin with. */
  readonly tail: number;
  readonly follow: boolean;
  readonly signal: AbortSignal;
  readonly onLine: (line: string) => void;
  /** False while the reader has too much unsent data. */
  readonly hasRoom: () => boolean;
}

const TAIL_BYTES = 256 * 1024;
const READ_BYTES = 64 * 1024;
const LINE_CAP = 8 * 1024;
const LOOK_MS = 500;

/** Resolves at the end of the file, or, when it is followed, when the signal is aborted. A file that does not exist yet counts as empty. */
export async function readLog(path: string, reading: LogReading): Promise<void> {
  const { tail, follow, signal, onLine } = reading;
  const size = await sizeOf(path);
  let offset = Math.max(0, size - TAIL_BYTES);
  const before = await readFrom(path, offset, size - offset);
  const whole = offset === 0 ? before : before.slice(before.indexOf('\n') + 1);
  const lines = whole.split('\n');
  let rest = lines.pop() ?? '';
  if (!follow && rest !== '') lines.push(rest);
  for (const line of tail === 0 ? [] : lines.slice(-tail)) onLine(toText(line));
  offset = size;
  while (follow && !signal.aborted) {
    const now = await sizeOf(path);
    // The file is shorter than before: a new one has taken its place.
    if (now < offset) [offset, rest] = [0, ''];
    if (now > offset && reading.hasRoom()) {
      const text = await readFrom(path, offset, Math.min(READ_BYTES, now - offset));
      offset += text.length;
      const parts = `${rest}${text}`.split('\n');
      rest = (parts.pop() ?? '').slice(0, LINE_CAP);
      for (const line of parts) onLine(toText(line));
      continue;
    }
    await sleep(LOOK_MS, undefined, { signal }).catch(() => undefined);
  }
}

function toText(line: string): string {
  return Buffer.from(line.slice(0, LINE_CAP), 'latin1').toString('utf8');
}

/** Read as Latin 1, so that each byte is one character and a read may begin and end in the middle of a character. */
async function readFrom(path: string, offset: number, length: number): Promise<string> {
  if (length <= 0) return '';
  await using file = await open(path, 'r');
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, offset);
  return buffer.toString('latin1', 0, bytesRead);
}

async function sizeOf(path: string): Promise<number> {
  try {
    await using file = await open(path, 'r');
    return (await file.stat()).size;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return 0;
    throw error;
  }
}
