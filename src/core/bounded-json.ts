// Reading JSON from outside. Parsing costs time for each part of a value, and far more for each level of depth, so that both
// are counted before it is parsed. Pure.

export interface JsonLimits {
  /** Counts elements, fields and containers together. */
  readonly values: number;
  readonly depth: number;
}

/** Holds a network policy of 10,000 rules, and more than any other caller has reason to send. */
export const BODY_LIMITS: JsonLimits = { values: 32_000, depth: 64 };
/** Fits a list with everything that a large organization has. */
export const ANSWER_LIMITS: JsonLimits = { values: 500_000, depth: 64 };
/** Parsing a shorter text costs nothing that is worth counting. */
const FREE_LENGTH = 4 * 1024;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Throws a SyntaxError for what is no JSON, and for what has more parts or is deeper than `limits`. */
export function parseBoundedJson(text: string, limits = BODY_LIMITS): unknown {
  if (text.length > FREE_LENGTH) {
    const problem = findExcess(text, limits);
    if (problem !== undefined) throw new SyntaxError(problem);
  }
  return JSON.parse(text);
}

/** The same; undefined for what is refused. */
export function readBoundedJson(text: string, limits = BODY_LIMITS): unknown {
  try {
    return parseBoundedJson(text, limits);
  } catch {
    return undefined;
  }
}

/**
 * Which limit the text exceeds, found in one pass; undefined for none. Text that is no JSON may be counted wrongly, and is
 * refused either way.
 */
function findExcess(text: string, { values, depth }: JsonLimits): string | undefined {
  let count = 0;
  let level = 0;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit === QUOTE) index = endOfString(text, index);
    else if (unit === 0x5b || unit === 0x7b) {
      level += 1;
      count += 1;
      if (level > depth) return `it is more than ${depth} levels deep`;
    } else if (unit === 0x5d || unit === 0x7d) level -= 1;
    else if (unit === 0x2c) count += 1;
    if (count > values) return `it has more than ${values} values`;
  }
  return undefined;
}

/** Where the closing quote is, or the end of the text. */
function endOfString(text: string, begin: number): number {
  let index = begin + 1;
  while (index < text.length && text.charCodeAt(index) !== QUOTE) {
    index += text.charCodeAt(index) === BACKSLASH ? 2 : 1;
  }
  return index;
}
