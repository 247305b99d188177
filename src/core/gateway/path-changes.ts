// The changes that servers are known to make to a path before they route it, each in one pass over the path. Pure.
import { withoutInvisible } from './path-layers.ts';

export type PathChange = (path: string) => string;

const SLASH = 0x2f;
const BACKSLASH = 0x5c;
const SEMICOLON = 0x3b;
const SPACE = 0x20;
const DOT = 0x2e;

/** The changes in the order in which servers make them. Each may happen or not, so that the readings multiply. */
export const pathChanges: readonly PathChange[] = [
  (path) => before(path, '?'),
  (path) => before(path, '#'),
  (path) => before(path, ' '),
  withoutInvisible,
  (path) => (path.includes(' ') ? withoutOuterSpaces(path) : path),
  (path) => (path.includes('\\') ? withSlashes(path) : path),
  (path) => (path.includes(';') ? withoutParameters(path) : path),
  (path) => (/[. ](?:\/|$)/.test(path) ? withoutTrailingDots(path) : path),
  mergeSlashes,
];

export function mergeSlashes(path: string): string {
  const first = path.indexOf('//');
  if (first < 0) return path;
  const last = path.lastIndexOf('//') + 1;
  const between = path.slice(first, last);
  const merged = new Units(between);
  for (let index = 0; index < between.length; index += 1) {
    const unit = between.charCodeAt(index);
    if (unit !== SLASH || merged.last !== SLASH) merged.push(unit);
  }
  // The last of several slashes begins what follows.
  if (merged.last === SLASH) merged.pop();
  return path.slice(0, first) + merged.toString() + path.slice(last);
}

export function withSlashes(path: string): string {
  const slashed = new Units(path);
  for (let index = 0; index < path.length; index += 1) {
    const unit = path.charCodeAt(index);
    slashed.push(unit === BACKSLASH ? SLASH : unit);
  }
  return slashed.toString();
}

function before(path: string, mark: string): string {
  const index = path.indexOf(mark);
  return index < 0 ? path : path.slice(0, index);
}

/** Removes the spaces at both ends of each segment. */
function withoutOuterSpaces(path: string): string {
  const kept = new Units(path);
  for (let index = 0; index < path.length; index += 1) {
    const unit = path.charCodeAt(index);
    if (unit === SLASH) while (kept.last === SPACE) kept.pop();
    if (unit !== SPACE || kept.last !== SLASH) kept.push(unit);
  }
  while (kept.last === SPACE) kept.pop();
  return kept.toString();
}

/** Removes dots and spaces at the end of each segment, which the file systems of Windows ignore. */
function withoutTrailingDots(path: string): string {
  const kept = new Units(path);
  for (let index = 0; index < path.length; index += 1) {
    const unit = path.charCodeAt(index);
    if (unit === SLASH) while (kept.last === DOT || kept.last === SPACE) kept.pop();
    kept.push(unit);
  }
  while (kept.last === DOT || kept.last === SPACE) kept.pop();
  return kept.toString();
}

/** Removes everything from a `;` to the end of its segment. */
function withoutParameters(path: string): string {
  const kept = new Units(path);
  let isParameter = false;
  for (let index = 0; index < path.length; index += 1) {
    const unit = path.charCodeAt(index);
    if (unit === SEMICOLON) isParameter = true;
    else if (unit === SLASH) isParameter = false;
    if (!isParameter) kept.push(unit);
  }
  return kept.toString();
}

/** Collects the code units of a text no longer than `source`, in half the memory while each fits into a byte. */
class Units {
  readonly #units: Uint8Array | Uint16Array;
  #length = 0;

  constructor(source: string) {
    this.#units = /[^\0-\xff]/.test(source) ? new Uint16Array(source.length) : new Uint8Array(source.length);
  }

  /** The last unit; -1 when there is none. */
  get last(): number {
    return this.#length === 0 ? -1 : (this.#units[this.#length - 1] ?? -1);
  }

  push(unit: number): void {
    this.#units[this.#length] = unit;
    this.#length += 1;
  }

  pop(): void {
    this.#length -= 1;
  }

  toString(): string {
    const { buffer, BYTES_PER_ELEMENT } = this.#units;
    const bytes = Buffer.from(buffer, 0, this.#length * BYTES_PER_ELEMENT);
    return BYTES_PER_ELEMENT === 1 ? bytes.toString('latin1') : bytes.toString('utf16le');
  }
}
