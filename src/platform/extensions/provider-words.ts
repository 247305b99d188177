// What a provider says, made fit to be stored and shown: of a sane length, and without characters that change how a terminal shows the rest.
// Pure.
import { readBoundedJson } from '../../core/bounded-json.ts';

const WORDS_MAX = 300;
/** Where frameworks put the words of an error, those for people first. */
const FIELDS = ['message', 'error_description', 'detail', 'error', 'title', 'reason'];
const LIST = 'errors';
const LISTED_MAX = 3;
/** Controls, and what turns the direction of text or ends a line. */
const UNFIT = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\u2028\u2029]+/gu;

/** The text on one line, cut to `max` characters. */
export function toFitText(text: string, max: number): string {
  // Cut first, so that the cost does not depend on what was sent.
  const fit = text
    .slice(0, 4 * max)
    .replace(UNFIT, ' ')
    .replace(/ {2,}/g, ' ')
    .trim();
  const whole = [...fit];
  return whole.length > max ? `${whole.slice(0, max - 1).join('')}…` : fit;
}

/** The words of an answer that refuses; empty when it has none. */
export function toProviderWords(body: string): string {
  const said = findWords(readBoundedJson(body));
  if (said !== undefined) return toFitText(said, WORDS_MAX);
  return /^\s*[<{[]/.test(body) ? '' : toFitText(body, WORDS_MAX);
}

/** The first words that say what is wrong; several where the provider lists them. */
function findWords(value: unknown): string | undefined {
  if (typeof value === 'string') return value === '' ? undefined : value;
  if (typeof value !== 'object' || value === null) return undefined;
  if (Array.isArray(value)) return join(value.slice(0, LISTED_MAX).map(findWords));
  const fields = new Map(Object.entries(value));
  for (const name of FIELDS) {
    const found = findWords(fields.get(name));
    if (found !== undefined) return found;
  }
  const listed = fields.get(LIST);
  if (typeof listed !== 'object' || listed === null || Array.isArray(listed)) return findWords(listed);
  // A list has the name of each field that is wrong.
  const named = Object.entries(listed).slice(0, LISTED_MAX);
  return join(named.map(([name, words]) => toNamed(name, findWords(words))));
}

function toNamed(name: string, words: string | undefined): string | undefined {
  return words === undefined ? undefined : `${name} ${words}`;
}

function join(all: readonly (string | undefined)[]): string | undefined {
  return all.filter((words) => words !== undefined).join('; ') || undefined;
}
