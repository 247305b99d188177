// Secrets of a test that are looked for in every form in which they could have been written down.
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { errorCode } from '../../src/core/error-code.ts';

/** It differs in each of the forms, and from every other one: other tests look at the same processes. */
export function drawCanary(): string {
  return `cänary+/=?&"${randomUUID()}`;
}

export class CanarySearch {
  readonly #canaries: { readonly name: string; readonly forms: readonly Buffer[] }[] = [];

  constructor(canaries: Readonly<Record<string, string>> = {}) {
    for (const [name, value] of Object.entries(canaries)) this.add(name, value);
  }

  /** Looks for one more from now on, and returns its value. */
  add(name: string, value: string): string {
    if (value.length < SHORTEST) throw new Error(`${name} is so short that it may be found by chance`);
    this.#canaries.push({ name, forms: toForms(value) });
    return value;
  }

  get names(): readonly string[] {
    return this.#canaries.map(({ name }) => name);
  }

  /** The names of those that are in it. */
  in(bytes: Buffer | string): readonly string[] {
    const buffer = Buffer.from(bytes);
    return this.#canaries.filter(({ forms }) => forms.some((form) => buffer.includes(form))).map(({ name }) => name);
  }

  /** `name in path` for the files below a directory. */
  files(dir: string): readonly string[] {
    return listAll(dir).flatMap((path) => this.in(readFile(join(dir, path))).map((name) => `${name} in ${path}`));
  }

  /** The same for the arguments and the environment of every process, but the environment of those that a supervisor has started for people. */
  processes(): readonly string[] {
    const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
    return pids.flatMap((pid) => {
      const words = this.in(readProcess(pid, 'cmdline')).map((name) => `${name} in the arguments of ${pid}`);
      const env = readProcess(pid, 'environ');
      if (env.includes('REMORA_SERVICE=')) return words;
      return [...words, ...this.in(env).map((name) => `${name} in the environment of ${pid}`)];
    });
  }
}

const SHORTEST = 12;

/** The value as text and as JSON; and each of them in URLs, in hex, and in base64 with any number of bytes before it. */
export function toForms(value: string): readonly Buffer[] {
  const texts = [value, JSON.stringify(value).slice(1, -1)].flatMap((text) => [text, ...toEncoded(text)]);
  return [...new Set(texts)].map((text) => Buffer.from(text));
}

function toEncoded(text: string): readonly string[] {
  const bytes = Buffer.from(text);
  return [
    ...[encodeURIComponent(text), new URLSearchParams({ a: text }).toString().slice(2)].flatMap(toBothCases),
    bytes.toString('hex'),
    bytes.toString('hex').toUpperCase(),
    ...[0, 1, 2].flatMap((before) => {
      const shifted = Buffer.concat([Buffer.alloc(before), bytes]);
      // The groups that bytes before and after it could change are cut off.
      const whole = (encoded: string) => encoded.slice(before === 0 ? 0 : 4, Math.floor(shifted.length / 3) * 4);
      return [whole(shifted.toString('base64')), whole(shifted.toString('base64url'))];
    }),
  ];
}

function toBothCases(encoded: string): readonly string[] {
  return [encoded, encoded.replace(/%../g, (digits) => digits.toLowerCase())];
}

/** Everything below a directory. It is read again where a directory in it is removed meanwhile. */
function listAll(dir: string): readonly string[] {
  for (let times = 1; ; times += 1) {
    try {
      return readdirSync(dir, { recursive: true, encoding: 'utf8' });
    } catch (error) {
      if (errorCode(error) !== 'ENOENT' || times === 20) throw error;
    }
  }
}

/** Empty where it is no file, or none any more. */
function readFile(path: string): Buffer {
  try {
    return statSync(path).isFile() ? readFileSync(path) : Buffer.alloc(0);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return Buffer.alloc(0);
    throw error;
  }
}

function readProcess(pid: string, name: string): Buffer {
  try {
    return readFileSync(`/proc/${pid}/${name}`);
  } catch {
    return Buffer.alloc(0);
  }
}
