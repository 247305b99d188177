// The end of a terminal that is held here: what is typed, and what is printed, to the last byte. The other end is held open too, so that the
// terminal shows no end while its process runs; a read that sees the end could leave out what the kernel still has.
import { closeSync, constants, openSync, readSync } from 'node:fs';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { ReadStream } from 'node:tty';
import { errorCode } from '../../core/error-code.ts';

const READ_BYTES = 64 * 1024;
/** Once all that the process has printed is read, others that it has left in the terminal may print for a while. */
const QUIET_MS = 200;
const OTHERS_MS = 1_000;
const POLL_MS = 20;

/** All terminals share it: what is read is copied before the next read. */
const shared = Buffer.allocUnsafeSlow(READ_BYTES);

export interface TerminalStreamOptions {
  readonly fd: number;
  /** The path of the other end. */
  readonly pty: string;
  readonly onOutput: (bytes: Buffer) => void;
  /** It takes bytes again. */
  readonly onRoom: () => void;
}

export class TerminalStream {
  readonly #options: TerminalStreamOptions;
  readonly #socket: ReadStream;
  /** Undefined once it is let go of. */
  #other: number | undefined;
  #isPaused = false;
  #isFinishing = false;

  /** Takes over `fd`, also when it throws because the other end cannot be opened. */
  constructor(options: TerminalStreamOptions) {
    const { fd, pty, onOutput, onRoom } = options;
    this.#options = options;
    const callback = (length: number) => {
      onOutput(Buffer.from(shared.subarray(0, length)));
      return true;
    };
    this.#socket = new ReadStream(fd, { onread: { buffer: shared, callback } });
    // A terminal that breaks is over, which `finish` sees.
    this.#socket.on('error', () => undefined).on('drain', onRoom);
    try {
      this.#other = openSync(pty, constants.O_RDWR | constants.O_NOCTTY);
    } catch (error) {
      this.close();
      throw error;
    }
    this.#socket.resume();
  }

  get isOpen(): boolean {
    return !this.#socket.destroyed;
  }

  /** False when nothing more should be written until there is room. */
  write(bytes: Buffer): boolean {
    return !this.#socket.writable || this.#socket.write(bytes);
  }

  /** Stops and goes on reading. */
  setPaused(isPaused: boolean): void {
    this.#isPaused = isPaused;
    if (this.#isFinishing) return;
    if (isPaused) this.#socket.pause();
    else this.#socket.resume();
  }

  /** Call it when the process has ended. Resolves when all that it printed is passed on, and closes the terminal. */
  async finish(): Promise<void> {
    this.#isFinishing = true;
    // Only the reads below take bytes from here on.
    this.#socket.pause();
    while (this.isOpen && (this.#isPaused || this.#read() === 'bytes')) {
      if (this.#isPaused) await sleep(POLL_MS);
      else await nextTurn();
    }
    this.#letGo();
    await this.#readOthers();
    this.close();
  }

  /** Reads nothing more. */
  close(): void {
    this.#letGo();
    this.#socket.destroy();
  }

  /** Reads on while others have the terminal open; they cannot keep it for ever. */
  async #readOthers(): Promise<void> {
    const begin_ms = performance.now();
    let printed_ms = begin_ms;
    while (this.isOpen) {
      const found = this.#isPaused ? 'nothing' : this.#read();
      const now_ms = performance.now();
      if (found === 'bytes') printed_ms = now_ms;
      if (found === 'end' || now_ms - printed_ms > QUIET_MS || now_ms - begin_ms > OTHERS_MS) return;
      await sleep(found === 'bytes' ? 0 : POLL_MS);
    }
  }

  #read(): 'bytes' | 'nothing' | 'end' {
    try {
      const length = readSync(this.#options.fd, shared);
      if (length === 0) return 'end';
      this.#options.onOutput(Buffer.from(shared.subarray(0, length)));
      return 'bytes';
    } catch (error) {
      return errorCode(error) === 'EAGAIN' ? 'nothing' : 'end';
    }
  }

  #letGo(): void {
    if (this.#other !== undefined) closeSync(this.#other);
    this.#other = undefined;
  }
}
