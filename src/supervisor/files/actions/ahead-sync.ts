// Brings what is written to a file to the disk while more is written: at the end of a large file its caller waits for the rest only.
import type { FileHandle } from 'node:fs/promises';

/** The disk begins after so many bytes. */
const AHEAD_BYTES = 32 * 1024 * 1024;

export class AheadSync {
  readonly #handle: FileHandle;
  #unsynced_bytes = 0;
  #syncing: Promise<void> | undefined;
  #failure: unknown;

  constructor(handle: FileHandle) {
    this.#handle = handle;
  }

  onWritten(bytes: number): void {
    this.#unsynced_bytes += bytes;
    if (this.#unsynced_bytes < AHEAD_BYTES || this.#syncing !== undefined) return;
    this.#unsynced_bytes = 0;
    this.#syncing = this.#sync();
  }

  /** Resolves when the handle may be closed. Never rejects. */
  async rest(): Promise<void> {
    await this.#syncing;
  }

  /** Throws the first failure: a later sync does not know of it. */
  async check(): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
  }

  async #sync(): Promise<void> {
    try {
      await this.#handle.datasync();
    } catch (error) {
      this.#failure ??= error;
    }
    this.#syncing = undefined;
  }
}
