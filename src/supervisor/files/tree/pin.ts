// Holds on to one file, directory or link, so that what was checked is what is used. Nothing is opened: a device or a FIFO does not notice.
import { constants, type Stats } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { errorCode } from '../../../core/error-code.ts';
import { named } from '../file-error.ts';
import { descriptorPath, O_PATH } from './descriptor-path.ts';
import { Spot } from './spot.ts';

export class Pin implements AsyncDisposable {
  readonly handle: FileHandle;
  readonly stat: Stats;
  /** The path as the caller knows it. */
  readonly path: string;

  constructor(handle: FileHandle, stat: Stats, path: string) {
    this.handle = handle;
    this.stat = stat;
    this.path = path;
  }

  /** Leads to what is held. No call of the system may be given it when a link is held. */
  get at(): string {
    return descriptorPath(this.handle);
  }

  /** A name in the directory that is held. */
  child(name: Buffer): Spot {
    return new Spot(this.handle, name, `${this.path.replace(/\/$/, '')}/${name.toString()}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.handle.close();
  }
}

/** Does not follow a link. Throws FileError. */
export async function pin(spot: Spot): Promise<Pin> {
  const handle = await named(spot.path, open(spot.at, O_PATH | constants.O_NOFOLLOW));
  try {
    return new Pin(handle, await handle.stat(), spot.path);
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Undefined when there is nothing. */
export async function pinIfThere(spot: Spot): Promise<Pin | undefined> {
  try {
    return await pin(spot);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}
