// Finds the items in the text of a bill without reading them, so that each can be read by itself: the whole of a long one would hold
// everybody up. Pure.

export interface SplitBill {
  /** The text of each item. It may be no JSON. */
  readonly items: readonly string[];
  /** The text around the items, with an empty list in their place. */
  readonly rest: string;
}

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const KEY = '"items"';

/** Undefined where the text has no field `items` with a list that ends. `max`: no more than one item above it is returned. */
export function splitItems(text: string, max: number): SplitBill | undefined {
  const begin = findList(text);
  if (begin === undefined) return undefined;
  const items: string[] = [];
  let from = begin + 1;
  let depth = 0;
  for (let at = from; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) at = endOfString(text, at);
    else if (isOpening(unit)) depth += 1;
    else if (isClosing(unit) && depth > 0) depth -= 1;
    else if (isClosing(unit) || (unit === COMMA && depth === 0)) {
      const item = text.slice(from, at).trim();
      if (item !== '' || unit === COMMA || items.length > 0) items.push(item);
      if (isClosing(unit) || items.length > max)
        return { items, rest: `${text.slice(0, begin)}[]${text.slice(at + 1)}` };
      from = at + 1;
    }
  }
  return undefined;
}

/** Where the list of the outermost field `items` begins. */
function findList(text: string): number | undefined {
  let depth = 0;
  let key = '';
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) {
      const end = endOfString(text, at);
      key = end - at < KEY.length ? text.slice(at, end + 1) : '';
      at = end;
    } else if (isOpening(unit)) {
      if (depth === 1 && key === KEY && text[at] === '[') return at;
      depth += 1;
    } else if (isClosing(unit)) depth -= 1;
    else if (unit === COMMA) key = '';
  }
  return undefined;
}

function isOpening(unit: number): boolean {
  return unit === 0x5b || unit === 0x7b;
}

function isClosing(unit: number): boolean {
  return unit === 0x5d || unit === 0x7d;
}

/** Where the closing quote is, or the end of the text. */
function endOfString(text: string, begin: number): number {
  let at = begin + 1;
  while (at < text.length && text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1;
  return at;
}
