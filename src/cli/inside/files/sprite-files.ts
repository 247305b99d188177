// The files of a sprite for `remora cp`, by absolute paths.
import { posix } from 'node:path';
import { Readable } from 'node:stream';
import type { RequesterAnswer } from '../../../client/client.ts';
import { toRefusal } from '../../../client/failure.ts';
import { parseAnswer, readText } from '../../../client/read-answer.ts';
import { UpstreamError } from '../../../client/upstream-error.ts';
import { type FileEntry, fileError, writeResponse } from '../../../contract/files.ts';
import type { SpriteDoor } from '../sprite-door.ts';

const ROOT = '/';
const EXISTS = [200, 206, 416];

export interface OpenSpriteFile {
  /** Undefined where it is not known before the end. */
  readonly size: number | undefined;
  readonly body: Readable;
}

export interface WriteOptions {
  readonly content: Readable;
  /** Undefined where it is not known before the end. */
  readonly size: number | undefined;
  /** The mode stays that of the file that is replaced when this is undefined. */
  readonly mode: number | undefined;
  readonly makesParents: boolean;
}

export class SpriteFiles {
  readonly #door: SpriteDoor;
  readonly #signal: AbortSignal;

  constructor(door: SpriteDoor, signal: AbortSignal) {
    this.#door = door;
    this.#signal = signal;
  }

  /** False also for what is not there. */
  async isDirectory(path: string): Promise<boolean> {
    const signal = this.#signal;
    const request = {
      method: 'GET',
      path: '/fs/read',
      query: toWhere(path),
      headers: { range: 'bytes=0-0' },
      signal,
    } as const;
    const answer = await this.#door.request(request);
    if (EXISTS.includes(answer.statusCode)) {
      await answer.body.dump();
      return false;
    }
    const text = await readText(answer.body);
    const { code } = fileError.safeParse(parse(text)).data ?? {};
    if (code === undefined) throw refuse(answer, text);
    return code === 'EISDIR';
  }

  /** A file, or the children of a directory. Links on the way are followed. */
  async look(path: string): Promise<{ readonly file: FileEntry } | { readonly children: readonly FileEntry[] }> {
    const signal = this.#signal;
    const list = await this.#door.client.call('listFiles', { query: toWhere(path), signal });
    const [first] = list.entries;
    return first !== undefined && first.path === list.path && !first.isDir
      ? { file: first }
      : { children: list.entries };
  }

  /** The mode of a directory; undefined where its parent does not show it. */
  async directoryMode(path: string): Promise<number | undefined> {
    const name = posix.basename(path);
    if (name === '') return undefined;
    const query = { ...toWhere(posix.dirname(path)), pattern: name.replaceAll(/[*?[\]\\]/g, '\\$&') };
    try {
      const { entries } = await this.#door.client.call('listFiles', { query, signal: this.#signal });
      return entries.length === 1 && entries[0]?.isDir === true ? Number.parseInt(entries[0].mode, 8) : undefined;
    } catch (error) {
      if (error instanceof UpstreamError && error.status !== undefined) return undefined;
      throw error;
    }
  }

  async open(path: string): Promise<OpenSpriteFile> {
    const request = { method: 'GET', path: '/fs/read', query: toWhere(path), signal: this.#signal } as const;
    const answer = await this.#door.request(request);
    if (answer.statusCode !== 200) throw refuse(answer, await readText(answer.body));
    const length = answer.headers['content-length'];
    return { size: typeof length === 'string' ? Number(length) : undefined, body: answer.body };
  }

  async write(path: string, { content, size, mode, makesParents }: WriteOptions): Promise<void> {
    const answer = await this.#door.request({
      method: 'PUT',
      path: '/fs/write',
      query: {
        ...toWhere(path),
        mode: mode === undefined ? undefined : toOctal(mode),
        mkdirParents: makesParents ? 'true' : undefined,
      },
      headers: {
        'content-type': 'application/octet-stream',
        ...(size === undefined ? {} : { 'content-length': String(size) }),
      },
      body: content,
      signal: this.#signal,
    });
    const text = await readText(answer.body);
    if (answer.statusCode !== 200) throw refuse(answer, text);
    parseAnswer(writeResponse, text, answer.statusCode);
  }

  /** Makes an empty directory with those above it: there is no operation for that alone. */
  async makeDirectory(path: string, name: string): Promise<void> {
    const file = posix.join(path, name);
    await this.write(file, { content: Readable.from([]), size: 0, mode: 0o600, makesParents: true });
    await this.#door.client.call('deleteFiles', { query: toWhere(file), signal: this.#signal });
  }

  async changeMode(path: string, mode: number): Promise<void> {
    const body = { path, workingDir: ROOT, mode: toOctal(mode) };
    await this.#door.client.call('changeFileMode', { body, signal: this.#signal });
  }
}

function toWhere(path: string) {
  return { path, workingDir: ROOT };
}

function toOctal(mode: number): string {
  return (mode & 0o777).toString(8).padStart(4, '0');
}

type Refused = Pick<RequesterAnswer, 'statusCode' | 'headers'>;

function refuse({ statusCode: status, headers }: Refused, text: string): UpstreamError {
  return toRefusal({ status, text, headers });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
