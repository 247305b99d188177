// What is wrong with a field of a request, in words for its author: what is expected, never the library's own text. Pure.
import type { z } from 'zod';

/** Makes the message of an issue, for the `error` option of a parse. A message that the schema itself brings goes first. */
export function toFieldProblem(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case 'invalid_type': {
      const expected = `expected ${typeNames[issue.expected] ?? issue.expected}`;
      return issue.input === undefined ? `is missing; ${expected}` : expected;
    }
    case 'invalid_value': {
      const shown = issue.values.map((value) => (typeof value === 'string' ? value : String(value)));
      return shown.length === 1 ? `expected ${shown[0]}` : `expected one of ${shown.join(', ')}`;
    }
    case 'too_small':
      return `expected ${issue.inclusive === false ? 'more than' : 'at least'} ${toAmount(issue.minimum, issue.origin)}`;
    case 'too_big':
      return `expected ${issue.inclusive === false ? 'less than' : 'at most'} ${toAmount(issue.maximum, issue.origin)}`;
    case 'invalid_format':
      return toFormat(issue);
    case 'not_multiple_of':
      return `expected a multiple of ${issue.divisor}`;
    case 'unrecognized_keys':
      return `there is no ${issue.keys.slice(0, KEYS_SHOWN).map(toShort).join(', ')} here`;
    case 'invalid_union':
      // The field decides which of several forms the whole has.
      if (Array.isArray(issue.options)) return `expected one of ${issue.options.join(', ')}`;
      return 'is in none of the forms that are taken; /openapi.json shows them';
    case 'invalid_key':
      return 'has a name that is not taken';
    case 'invalid_element':
      return 'has an entry that is not taken';
    case 'custom':
      return 'is not taken';
    default:
      return issue satisfies never;
  }
}

const KEYS_SHOWN = 5;
const KEY_SHOWN_CHARS = 64;

const typeNames: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
  never: 'nothing',
};

const formatNames: Readonly<Record<string, string>> = {
  url: 'a URL',
  datetime: 'a time such as 2026-01-31T12:00:00Z',
  date: 'a day such as 2026-01-31',
  uuid: 'a UUID',
  email: 'an email address',
  base64: 'base64',
};

const units: Readonly<Record<string, readonly [string, string]>> = {
  string: ['character', 'characters'],
  array: ['entry', 'entries'],
  set: ['entry', 'entries'],
  map: ['entry', 'entries'],
  object: ['field', 'fields'],
};

function toAmount(bound: number | bigint, origin: string): string {
  const [one, many] = units[origin] ?? [];
  if (one === undefined || many === undefined) return String(bound);
  return `${bound} ${Number(bound) === 1 ? one : many}`;
}

function toFormat(issue: Extract<z.core.$ZodRawIssue, { code: 'invalid_format' }>): string {
  if (issue.format === 'starts_with') return `expected text that begins with ${String(issue.prefix)}`;
  if (issue.format === 'ends_with') return `expected text that ends with ${String(issue.suffix)}`;
  if (issue.format === 'regex') return 'is written in another way than it is taken; /openapi.json shows how';
  return `expected ${formatNames[issue.format] ?? issue.format}`;
}

function toShort(key: string): string {
  return key.length > KEY_SHOWN_CHARS ? `${key.slice(0, KEY_SHOWN_CHARS)}…` : key;
}
