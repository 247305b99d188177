// The log file of one service. Its service is read as fast as the disk takes what it prints. A disk that stands still or is full does not make
// it wait for long: what is not written is counted, and the count stands in the file as soon as something can be written again.
import { type FileHandle, open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { toErrorMessage } from '../../core/error-message.ts';
import { makeDirectory } from '../../linux/make-directory.ts';
import { countLines } from './count-lines.ts';
import { toLogBytes } from './log-line.ts';
import { LogQueue, type Waiting } from './log-queue.ts';

export const LOG_MAX_BYTES = 10 * 1024 * 1024;
/** The service should not be read while more than this waits. */
const AHEAD_BYTES = 1024 * 1024;
/** A disk that takes nothing for this long stands still. */
const STILL_MS = 1_000;
/** What may wait for the disk. */
const WAITING_MAX_BYTES = 4 * 1024 * 1024;
const RETRY_MS = 2_000;
const MODE = 0o640;
const TOO_SLOW = 'the disk was too slow';
const LF = 0x0a;

export interface LogFileOptions {
  readonly path: string;
  /** Who may read the file besides the supervisor; undefined leaves the group as it is. */
  readonly gid: number | undefined;
  readonly wall_ms: () => number;
}

export class LogFile implements AsyncDisposable {
  readonly path: string;
  readonly #options: LogFileOptions;
  #handle: FileHandle | undefined;
  #size_bytes = 0;
  readonly #queue = new LogQueue();
  #writing: Promise<void> | undefined;
  #retry: NodeJS.Timeout | undefined;
  readonly #lost = { lines: 0, why: '' };
  /** Settled when little waits, or the disk stands still. */
  #room: PromiseWithResolvers<void> | undefined;
  #isStill = false;
  /** The last write ended inside a line. */
  #isTorn = false;

  constructor(options: LogFileOptions) {
    this.path = options.path;
    this.#options = options;
  }

  /** `bytes` are whole lines with their stamps. Returns at once. */
  append(bytes: Buffer, lines: number): void {
    if (lines === 0) return;
    if (this.#hasRoom(bytes.length)) this.#queue.push({ bytes, lines });
    else this.#lose(lines, TOO_SLOW);
    this.#resume();
  }

  /** Whole lines, which get the prefix. Returns at once, and keeps nothing of their memory. */
  appendLines(prefix: string, lines: Buffer): void {
    if (lines.length === 0) return;
    if (this.#hasRoom(lines.length)) this.#queue.pushLines(prefix, lines);
    else this.#lose(countLines([lines], lines.length), TOO_SLOW);
    this.#resume();
  }

  /** Undefined while there is room; else resolves when there is some, or the disk stands still. */
  untilRoom(): Promise<void> | undefined {
    if (this.#queue.bytes <= AHEAD_BYTES || this.#isStill) return undefined;
    if (this.#room === undefined) {
      const room = Promise.withResolvers<void>();
      const still = setTimeout(() => {
        this.#isStill = true;
        this.#giveRoom();
      }, STILL_MS);
      room.promise.then(() => clearTimeout(still));
      this.#room = room;
    }
    return this.#room.promise;
  }

  /** Resolves when everything that was appended before, and nothing after it, is in the file or lost; with the size of the file. */
  position(): Promise<number> {
    const { promise, resolve } = Promise.withResolvers<number>();
    this.#queue.push({ bytes: Buffer.alloc(0), lines: 0, onPassed: resolve });
    this.#resume();
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
    while (!this.#queue.isEmpty || this.#lost.lines > 0) {
      const batch = this.#queue.takeBatch();
      const failure = await this.#writeBatch(batch);
      this.#isStill = false;
      if (this.#queue.bytes <= AHEAD_BYTES / 2) this.#giveRoom();
      for (const { block, onPassed } of batch) {
        block?.release();
        onPassed?.(this.#size_bytes);
      }
      if (failure === undefined) continue;
      await this.#forgetHandle();
      if (!this.#queue.isEmpty) continue;
      this.#retry = setTimeout(() => this.#resume(), RETRY_MS).unref();
      break;
    }
    this.#writing = undefined;
  }

  /** The error when not all of it could be written; the lines that are missing then count as lost. */
  async #writeBatch(batch: readonly Waiting[]): Promise<unknown> {
    const notice = this.#takeNotice();
    const parts = [...notice.parts, ...batch.map(({ bytes }) => bytes)].filter(({ length }) => length > 0);
    const begin = { lines: notice.lines + batch.reduce((sum, { lines }) => sum + lines, 0), isTorn: this.#isTorn };
    const written = { bytes: 0 };
    try {
      await this.#writeAll(parts, written);
      return undefined;
    } catch (error) {
      const ends = countLines(parts, written.bytes) - (begin.isTorn && written.bytes > 0 ? 1 : 0);
      const isNoticeWritten = notice.lines > 0 && ends > 0;
      this.#lose(begin.lines - (isNoticeWritten ? notice.lines + ends - 1 : ends), toErrorMessage(error));
      return error;
    }
  }

  #hasRoom(bytes: number): boolean {
    return this.#queue.bytes + bytes <= WAITING_MAX_BYTES;
  }

  #giveRoom(): void {
    this.#room?.resolve();
    this.#room = undefined;
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

  async #writeAll(parts: readonly Buffer[], written: { bytes: number }): Promise<void> {
    if (this.#size_bytes >= LOG_MAX_BYTES) await this.#rotate();
    const handle = await this.#open();
    for (let rest = parts; rest.length > 0; ) {
      const { bytesWritten } = await handle.writev(rest);
      written.bytes += bytesWritten;
      this.#size_bytes += bytesWritten;
      if (bytesWritten > 0) this.#isTorn = byteAt(rest, bytesWritten - 1) !== LF;
      rest = dropBytes(rest, bytesWritten);
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

function byteAt(parts: readonly Buffer[], index: number): number | undefined {
  return dropBytes(parts, index)[0]?.[0];
}

/** What is left after the first `bytes`. */
function dropBytes(parts: readonly Buffer[], bytes: number): readonly Buffer[] {
  let left_bytes = bytes;
  return parts.flatMap((part) => {
    const dropped_bytes = Math.min(left_bytes, part.length);
    left_bytes -= dropped_bytes;
    return dropped_bytes === part.length ? [] : [part.subarray(dropped_bytes)];
  });
}
