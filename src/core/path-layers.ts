// The layers of percent-decoding that a provider could take off a path, and the shapes in them that no reading makes safe
// (design.md, section 5, point 1).

/** A path may be encoded this often. Whatever still holds an escape after that is refused, not guessed at. */
export const MAX_LAYERS = 3;

export type PathLayers =
  /** The path as it was sent, then each further layer as text; with its compatibility form where that differs. */
  | { readonly type: 'layers'; readonly texts: readonly string[] }
  | { readonly type: 'reject'; readonly message: string };

const PLAIN = /^[A-Za-z0-9_.~!$&'()*+,=:@/-]*$/;
const BROKEN_ESCAPE = /%(?![0-9A-Fa-f]{2})/;
const ESCAPE = /%[0-9A-Fa-f]{2}/;
const WIDE_ESCAPE = /%u[0-9A-Fa-f]{4}/i;
const DOT_SEGMENT = /(?:^|[/\\]) *\.\.? *(?:$|[/\\;?# ])/;
const OVERLONG = /[\xc0\xc1]|\xe0[\x80-\x9f]|\xf0[\x80-\x8f]/;
const strictUtf8 = new TextDecoder('utf-8', { fatal: true });

/** True when the path can be read in one way only, apart from its case and its last slash. */
export function isPlainPath(path: string): boolean {
  return PLAIN.test(path) && !path.includes('//');
}

/** `path` without its query, of visible ASCII. Never throws. */
export function toPathLayers(path: string): PathLayers {
  if (DOT_SEGMENT.test(path)) return reject('the path has a dot segment');
  if (!path.includes('%')) return { type: 'layers', texts: [path] };
  if (BROKEN_ESCAPE.test(path)) return reject('the path has a broken escape');
  const texts = [path];
  let bytes = path;
  for (let layer = 1; layer <= MAX_LAYERS && ESCAPE.test(bytes); layer += 1) {
    bytes = decodeOnce(bytes);
    const problem = layer === 1 && !isUtf8(bytes) ? 'the path is not UTF-8' : findProblem(bytes);
    if (problem !== undefined) return reject(problem);
    const text = Buffer.from(bytes, 'latin1').toString('utf8');
    const folded = text.normalize('NFKC');
    if (DOT_SEGMENT.test(text) || DOT_SEGMENT.test(folded)) return reject('the path has an encoded dot segment');
    if (countOf(folded, '%') > countOf(text, '%'))
      return reject('the path hides an escape in a compatibility character');
    texts.push(text);
    if (folded !== text) texts.push(folded);
  }
  if (ESCAPE.test(bytes)) return reject(`the path is encoded more than ${MAX_LAYERS} times`);
  return { type: 'layers', texts };
}

function findProblem(bytes: string): string | undefined {
  for (let index = 0; index < bytes.length; index += 1) {
    const byte = bytes.charCodeAt(index);
    if (byte < 0x20 || byte === 0x7f) return 'the path has an encoded control character';
  }
  if (OVERLONG.test(bytes)) return 'the path has an overlong encoding';
  if (WIDE_ESCAPE.test(bytes)) return 'the path has a %u escape';
  return undefined;
}

/** One layer off; text and result hold one byte in each character. What is not an escape stays. */
function decodeOnce(bytes: string): string {
  return bytes.replaceAll(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

function isUtf8(bytes: string): boolean {
  try {
    strictUtf8.decode(Buffer.from(bytes, 'latin1'));
    return true;
  } catch {
    return false;
  }
}

function countOf(text: string, character: string): number {
  return text.split(character).length - 1;
}

function reject(message: string): PathLayers {
  return { type: 'reject', message };
}
