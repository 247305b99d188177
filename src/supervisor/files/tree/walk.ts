// Finds the spot of a path, part by part through descriptors: each directory that was checked is the one that is entered, and `..` goes back
// to the directory that was left.
import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, readlink } from 'node:fs/promises';
import { errorCode } from '../../../core/error-code.ts';
import { FileError, named } from '../file-error.ts';
import { O_PATH, pathBelow } from './descriptor-path.ts';
import { mayFollow, type Rights } from './rights.ts';
import { Spot } from './spot.ts';

/** The limit of the kernel. */
const LINKS_MAX = 40;
const SLASH = 0x2f;
const DOT = Buffer.from('.');
const DOTS = Buffer.from('..');
const DIRECTORY_MODE = 0o755;

export interface WalkOptions {
  readonly rights: Rights;
  /** Whether a link in the last part is followed. The spot is then no link, or there is nothing. */
  readonly followsLast: boolean;
  /** Makes the directories on the way that are missing. */
  readonly makesParents?: boolean;
}

/** A spot with its directory, which is open until this is disposed of. */
export class Place extends Spot implements AsyncDisposable {
  async [Symbol.asyncDispose](): Promise<void> {
    await this.directory.close();
  }
}

/** `path` is absolute. Its last part need not exist. Throws FileError. */
export async function walk(path: string, options: WalkOptions): Promise<Place> {
  return await named(path, new Walk(path, options).run());
}

interface Step {
  readonly directory: FileHandle;
  /** The name in the directory of the step before; `.` for the root. */
  readonly name: Buffer;
}

class Walk {
  readonly #path: string;
  readonly #options: WalkOptions;
  readonly #steps: Step[] = [];
  /** The next part is the last of the list. */
  readonly #parts: Buffer[] = [];
  #links = 0;

  constructor(path: string, options: WalkOptions) {
    this.#path = path;
    this.#options = options;
  }

  async run(): Promise<Place> {
    try {
      this.#steps.push({ directory: await open('/', O_PATH), name: DOT });
      this.#push(Buffer.from(this.#path));
      for (let part = this.#parts.pop(); part !== undefined; part = this.#parts.pop()) {
        if (part.equals(DOT)) continue;
        if (part.equals(DOTS)) {
          if (this.#steps.length > 1) await this.#leave();
        } else if (await this.#enter(part)) {
          return this.#take(part);
        }
      }
      return await this.#takeDirectory();
    } finally {
      for (const { directory } of this.#steps) await directory.close();
    }
  }

  get #here(): FileHandle {
    const step = this.#steps.at(-1);
    if (step === undefined) throw new Error('a walk has no directory');
    return step.directory;
  }

  /** True when `part` is the spot that was looked for. */
  async #enter(part: Buffer): Promise<boolean> {
    const isLast = this.#parts.length === 0;
    if (isLast && !this.#options.followsLast) return true;
    const next = await this.#open(part, isLast);
    if (next === undefined) return true;
    let isKept = false;
    try {
      const stat = await next.stat();
      if (stat.isSymbolicLink()) {
        if (!mayFollow(this.#options.rights, stat, await this.#here.stat())) throw this.#refusal(part);
        await this.#follow(part);
      } else if (isLast) {
        return true;
      } else if (stat.isDirectory()) {
        this.#steps.push({ directory: next, name: part });
        isKept = true;
      } else {
        throw new FileError('ENOTDIR', this.#path, `not a directory, at "${part}"`);
      }
    } finally {
      if (!isKept) await next.close();
    }
    return false;
  }

  /** Undefined when the last part does not exist. */
  async #open(part: Buffer, isLast: boolean): Promise<FileHandle | undefined> {
    const at = pathBelow(this.#here, part);
    const flags = O_PATH | constants.O_NOFOLLOW;
    try {
      return await open(at, flags);
    } catch (error) {
      if (errorCode(error) !== 'ENOENT') throw error;
      if (isLast) return undefined;
      if (this.#options.makesParents !== true) throw error;
    }
    await mkdir(at, DIRECTORY_MODE).catch((error: unknown) => {
      if (errorCode(error) !== 'EEXIST') throw error;
    });
    return await open(at, flags);
  }

  async #follow(part: Buffer): Promise<void> {
    this.#links += 1;
    if (this.#links > LINKS_MAX) throw new FileError('ELOOP', this.#path, 'too many symbolic links');
    const target = await readlink(pathBelow(this.#here, part), { encoding: 'buffer' });
    if (target[0] === SLASH) while (this.#steps.length > 1) await this.#leave();
    this.#push(target);
  }

  async #leave(): Promise<void> {
    await this.#steps.pop()?.directory.close();
  }

  #push(path: Buffer): void {
    const parts: Buffer[] = [];
    for (let start = 0; start < path.length; ) {
      const slash = path.indexOf(SLASH, start);
      const end = slash < 0 ? path.length : slash;
      if (end > start) parts.push(path.subarray(start, end));
      start = end + 1;
    }
    // What ends with a slash must be a directory.
    if (parts.length > 0 && path.at(-1) === SLASH) parts.push(DOT);
    this.#parts.push(...parts.reverse());
  }

  #take(name: Buffer): Place {
    const { directory } = this.#steps.pop() as Step;
    return new Place(directory, name, this.#path);
  }

  /** The path ended in a directory that is already open. */
  async #takeDirectory(): Promise<Place> {
    const { name } = this.#steps.at(-1) as Step;
    if (this.#steps.length > 1) await this.#leave();
    return this.#take(name);
  }

  #refusal(part: Buffer): FileError {
    const what = `"${part}" is a symbolic link that others than root could change, and root does not follow it; name its target`;
    return new FileError('EACCES', this.#path, what);
  }
}
