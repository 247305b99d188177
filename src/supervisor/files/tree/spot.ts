// A name in an open directory: what is done to it is done there, wherever the path leads by then.
import type { FileHandle } from 'node:fs/promises';
import { pathBelow } from './descriptor-path.ts';

export class Spot {
  readonly directory: FileHandle;
  readonly name: Buffer;
  /** The path as the caller knows it, for answers and errors. */
  readonly path: string;

  /** Does not take over the directory. */
  constructor(directory: FileHandle, name: Buffer, path: string) {
    this.directory = directory;
    this.name = name;
    this.path = path;
  }

  /** The path for calls of the system that do not follow a link in the last part. */
  get at(): Buffer {
    return pathBelow(this.directory, this.name);
  }

  /** True for `/` alone: every other directory has a name in another one. */
  get isRoot(): boolean {
    return this.name.length === 1 && this.name[0] === 0x2e;
  }
}
