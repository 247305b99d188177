// The layers of percent-encoding that a provider could take off a path, and the shapes in them that no reading makes safe.
// Every step is one pass over the path. Pure.

import { type Decoded, decodeOnce, MAX_LAYERS } from './percent-decoding.ts';

export type PathLayers =
  /** The path as it was sent, then each further layer as text; each with its compatibility form where that differs. */
  | { readonly type: 'layers'; readonly texts: readonly string[] }
  | { readonly type: 'reject'; readonly message: string };

const PLAIN = /^[A-Za-z0-9_.~!$&'()*+,=:@/-]*$/;
const DOT_AT_END = /\.(?:\/|$)/;
const BROKEN_ESCAPE = /%(?![0-9A-Fa-f]{2})/;
const ESCAPE = /%[0-9A-Fa-f]{2}/;
const WIDE_ESCAPE = /%u[0-9A-Fa-f]{4}/i;
const OVERLONG = /[\xc0\xc1]|\xe0[\x80-\x9f]|\xf0[\x80-\x8f]/;
/**
 * Unicode's stream-safe format allows this many combining marks on one letter; no writing needs more. Ordering n marks costs n
 * squared. The half-width voice marks turn into such marks.
 */
const MARKS_MAX = 30;
/** One letter may become eighteen; a path of words with a few such letters stays far below this. */
const GROWTH_MAX = 256;
const MARKS = /[\p{M}\uff9e\uff9f]+/gu;
/** Soft hyphens, zero-width spaces and the like, which some servers drop. */
const INVISIBLE = /[\p{Cf}\p{Default_Ignorable_Code_Point}]+/gu;
const DOT = 0x2e;
const SPACE = 0x20;
const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** True when the path can be read in one way only, apart from its case and its last slash. */
export function isPlainPath(path: string): boolean {
  return PLAIN.test(path) && !path.includes('//') && !DOT_AT_END.test(path);
}

/** The text without invisible characters. */
export function withoutInvisible(text: string): string {
  const wide = toWide(text);
  return wide === '' || wide.replaceAll(INVISIBLE, '') === wide ? text : text.replaceAll(INVISIBLE, '');
}

/** The layers of `path`, which has no query. Never throws. */
export function toPathLayers(path: string): PathLayers {
  const layers = toRuleLayers(path);
  if (layers.type === 'reject') return layers;
  for (const text of layers.texts) {
    const seen = withoutInvisible(text);
    if (seen === text) continue;
    if (hasDotSegment(seen)) return reject('the path has a dot segment with invisible characters');
    if (hidesEscape(text, seen)) return reject('the path hides an escape behind invisible characters');
  }
  return layers;
}

/**
 * Does for a rule what `toPathLayers` does for a path. A rule that hides something covers nothing, because a path that hides it
 * is refused.
 */
export function toRuleLayers(path: string): PathLayers {
  if (hasDotSegment(path)) return reject('the path has a dot segment');
  if (!path.includes('%')) return { type: 'layers', texts: [path] };
  if (BROKEN_ESCAPE.test(path)) return reject('the path has a broken escape');
  const texts = [path];
  let bytes = Buffer.from(path, 'utf8').toString('latin1');
  for (let layer = 1; layer <= MAX_LAYERS && hasEscape(bytes); layer += 1) {
    const decoded = decodeOnce(bytes);
    bytes = decoded.bytes;
    const text = decoded.isAscii ? bytes : toText(bytes, layer === 1);
    if (text === undefined) return reject('the path is not UTF-8');
    const problem = findProblem(decoded, text);
    if (problem !== undefined) return reject(problem);
    texts.push(text);
    if (decoded.isAscii) continue;
    const folded = text.normalize('NFKC');
    if (folded === text) continue;
    if (folded.length > text.length + GROWTH_MAX) return reject('the path grows too much when it is normalized');
    if (hasDotSegment(folded)) return reject('the path has an encoded dot segment');
    if (hidesEscape(text, folded)) return reject('the path hides an escape in a compatibility character');
    texts.push(folded);
  }
  if (hasEscape(bytes)) return reject(`the path is encoded more than ${MAX_LAYERS} times`);
  return { type: 'layers', texts };
}

function findProblem({ bytes, isAscii, hasControl }: Decoded, text: string): string | undefined {
  if (hasControl) return 'the path has an encoded control character';
  if (bytes.includes('%') && WIDE_ESCAPE.test(bytes)) return 'the path has a %u escape';
  if (hasDotSegment(text)) return 'the path has an encoded dot segment';
  if (isAscii) return undefined;
  if (OVERLONG.test(bytes)) return 'the path has an overlong encoding';
  return hasLongMarks(text) ? `the path has more than ${MARKS_MAX} marks on one letter` : undefined;
}

function hasLongMarks(text: string): boolean {
  if (toWide(text).length <= MARKS_MAX) return false;
  return text.match(MARKS)?.some((marks) => marks.length > MARKS_MAX && [...marks].length > MARKS_MAX) ?? false;
}

/** True when a segment is one or two dots, with spaces before them or with something after them that may end the segment. */
function hasDotSegment(text: string): boolean {
  for (let dot = text.indexOf('.'); dot >= 0; ) {
    let end = dot + 1;
    while (text.charCodeAt(end) === DOT) end += 1;
    if (end - dot <= 2 && (end === text.length || isEnd(text.charCodeAt(end))) && isAtBegin(text, dot)) return true;
    dot = text.indexOf('.', end);
  }
  return false;
}

/**
 * True when only spaces lie between `at` and the beginning of the segment. No space is looked at twice, because they stand
 * between two dots.
 */
function isAtBegin(text: string, at: number): boolean {
  let index = at - 1;
  while (text.charCodeAt(index) === SPACE) index -= 1;
  return index < 0 || isSlash(text.charCodeAt(index));
}

function isSlash(unit: number): boolean {
  return unit === 0x2f || unit === 0x5c;
}

/** `/`, `\\`, `;`, `?`, `#` or a space. */
function isEnd(unit: number): boolean {
  return isSlash(unit) || unit === 0x3b || unit === 0x3f || unit === 0x23 || unit === SPACE;
}

/** The bytes as text; undefined for invalid UTF-8 when `isStrict`. */
function toText(bytes: string, isStrict: boolean): string | undefined {
  const buffer = Buffer.from(bytes, 'latin1');
  if (!isStrict) return buffer.toString('utf8');
  try {
    return strictUtf8.decode(buffer);
  } catch {
    return undefined;
  }
}

/** The characters outside ASCII. Finding these first costs far less than asking for the kind of every character. */
function toWide(text: string): string {
  return isAscii(text) ? '' : text.replaceAll(/[\0-\x7f]+/g, '');
}

function isAscii(text: string): boolean {
  return !/[^\0-\x7f]/.test(text);
}

/** Whether the other form of the text shows an escape, or the beginning of one, that the text itself does not show. */
function hidesEscape(text: string, other: string): boolean {
  return countOf(other, /%/g) > countOf(text, /%/g) || countOf(other, ESCAPES) > countOf(text, ESCAPES);
}

const ESCAPES = /%[0-9A-Fa-f]{2}/g;

/** Looking for the sign first costs less, because most layers have none. */
function hasEscape(text: string): boolean {
  return text.includes('%') && ESCAPE.test(text);
}

function countOf(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0;
}

function reject(message: string): PathLayers {
  return { type: 'reject', message };
}
