// The log file of one service. Writing never makes the service wait: what the disk does not take in time, or has no room for, is counted,
// and the count stands in the file as soon as something can be written again.
import { type FileHandle, open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { toErrorMessage } from '../../core/error-message.ts';
import { makeDirectory } from '../../linux/make-directory.ts';
import { toLogBytes } from './log-line.ts';

export const LOG_MAX_BYTES = 10 * 1024 * 1024;
/** What may wait for the disk. */
const WAITING_MAX_BYTES = 4 * 1024 * 1024;
/** After about as much a write is over. */
const WRITE_BYTES = 1024 * 1024;
const RETRY_MS = 2_000;
const MODE = 0o640;
const LF = 0x0a;

export interface LogFileOptions {
  readonly path: string;
  /** Who may read the file besides the supervisor; undefined leaves the group as it is. */
  readonly gid: number | undefined;
  readonly wall_ms: () => number;
}

interface Waiting {
  readonly bytes: Buffer;
  readonly lines: number;
  /** Runs once the bytes before it are written or lost. */
  readonly onPassed?: (size_bytes: number) => void;
}

export class LogFile implements AsyncDisposable {
  readonly path: string;
  readonly #options: LogFileOptions;
  #handle: FileHandle | undefined;
  #size_bytes = 0;
  #waiting: Waiting[] = [];
  #waiting_bytes = 0;
  #writing: Promise<void> | undefined;
  #retry: NodeJS.Timeout | undefined;
  readonly #lost = { lines: 0, why: '' };
  /** The last write ended inside a line. */
  #isTorn = false;

  constructor(options: LogFileOptions) {
    this.path = options.path;
    this.#options = options;
  }

  /** `bytes` are whole lines. Returns at once. */
  append(bytes: Buffer, lines: number): void {
    if (lines === 0) return;
    if (this.#waiting_bytes + bytes.length > WAITING_MAX_BYTES) {
      this.#lose(lines, 'the disk was too slow');
    } else {
      this.#waiting.push({ bytes, lines });
      this.#waiting_bytes += bytes.length;
    }
    this.#writing ??= this.#write();
  }

  /** Resolves when everything that was appended before, and nothing after it, is in the file or lost; with the size of the file. */
  position(): Promise<number> {
    const { promise, resolve } = Promise.withResolvers<number>();
    this.#waiting.push({ bytes: Buffer.alloc(0), lines: 0, onPassed: resolve });
    this.#writing ??= this.#write();
    return promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.position();
    clearTimeout(this.#retry);
    const handle = this.#handle;
    this.#handle = undefined;
    await handle?.close().catch(() => undefined);
  }

  async #write(): Promise<void> {
    // What is appended in the same turn goes into the same write.
    await Promise.resolve();
    clearTimeout(this.#retry);
    while (this.#waiting.length > 0 || this.#lost.lines > 0) {
      const batch = this.#takeBatch();
      const failure = await this.#writeBatch(batch);
      for (const { onPassed } of batch) onPassed?.(this.#size_bytes);
      if (failure === undefined) continue;
      await this.#forgetHandle();
      if (this.#waiting.length > 0) continue;
      this.#retry = setTimeout(() => this.#resume(), RETRY_MS).unref();
      break;
    }
    this.#writing = undefined;
  }

  /** Up to the first one that somebody waits for, and not much at once, so that a file is not far over its limit. */
  #takeBatch(): Waiting[] {
    let taken_bytes = 0;
    const isLast = ({ bytes, onPassed }: Waiting) => {
      taken_bytes += bytes.length;
      return onPassed !== undefined || taken_bytes >= WRITE_BYTES;
    };
    const end = this.#waiting.findIndex(isLast);
    this.#waiting_bytes -= taken_bytes;
    return this.#waiting.splice(0, end < 0 ? this.#waiting.length : end + 1);
  }

  /** The error when not all of it could be written; the lines that are missing then count as lost. */
  async #writeBatch(batch: readonly Waiting[]): Promise<unknown> {
    const notice = this.#takeNotice();
    const bytes = Buffer.concat([...notice.parts, ...batch.map((each) => each.bytes)]);
    const begin = { lines: notice.lines + batch.reduce((sum, { lines }) => sum + lines, 0), isTorn: this.#isTorn };
    const written = { bytes: 0 };
    try {
      await this.#writeAll(bytes, written);
      return undefined;
    } catch (error) {
      const ends = countLines(bytes.subarray(0, written.bytes)) - (begin.isTorn && written.bytes > 0 ? 1 : 0);
      const isNoticeWritten = notice.lines > 0 && ends > 0;
      this.#lose(begin.lines - (isNoticeWritten ? notice.lines + ends - 1 : ends), toErrorMessage(error));
      return error;
    }
  }

  #resume(): void {
    this.#writing ??= this.#write();
  }

  #lose(lines: number, why: string): void {
    this.#lost.lines += lines;
    this.#lost.why = why;
  }

  /** What must stand before the next lines: the end of a torn line, and how many lines were lost. */
  #takeNotice(): { parts: Buffer[]; lines: number } {
    const parts: Buffer[] = this.#isTorn ? [Buffer.of(LF)] : [];
    const { lines, why } = this.#lost;
    if (lines > 0) {
      const text = Buffer.from(`${lines} lines were not written here: ${why}`);
      parts.push(toLogBytes('error', [{ bytes: text, goesOn: false }], this.#options.wall_ms()));
      this.#lost.lines = 0;
    }
    return { parts, lines };
  }

  async #writeAll(bytes: Buffer, written: { bytes: number }): Promise<void> {
    if (this.#size_bytes >= LOG_MAX_BYTES) await this.#rotate();
    const handle = await this.#open();
    while (written.bytes < bytes.length) {
      const { bytesWritten } = await handle.write(bytes, written.bytes, bytes.length - written.bytes);
      written.bytes += bytesWritten;
      this.#size_bytes += bytesWritten;
      if (bytesWritten > 0) this.#isTorn = bytes[written.bytes - 1] !== LF;
    }
  }

  async #open(): Promise<FileHandle> {
    if (this.#handle !== undefined) return this.#handle;
    const { path, gid } = this.#options;
    makeDirectory(dirname(path), 0o755);
    const handle = await open(path, 'a+', MODE);
    this.#handle = handle;
    const stat = await handle.stat();
    this.#size_bytes = stat.isFile() ? stat.size : 0;
    if (this.#size_bytes > 0) {
      // A supervisor that was killed may have left half a line.
      const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, this.#size_bytes - 1);
      this.#isTorn = buffer[0] !== LF;
    }
    if (gid !== undefined && stat.isFile() && stat.gid !== gid) await handle.chown(stat.uid, gid);
    return handle;
  }

  async #rotate(): Promise<void> {
    await this.#forgetHandle();
    await rename(this.path, `${this.path}.1`);
    this.#size_bytes = 0;
  }

  async #forgetHandle(): Promise<void> {
    const handle = this.#handle;
    this.#handle = undefined;
    await handle?.close().catch(() => undefined);
  }
}

function countLines(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(LF); at >= 0; at = bytes.indexOf(LF, at + 1)) count += 1;
  return count;
}
