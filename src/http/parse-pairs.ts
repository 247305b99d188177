// The pairs of a query or of a form as a record.
import { refuseField } from '../core/refuse-field.ts';

/** The most pairs that a query or a form may have. */
const PAIRS_MAX = 256;

/** The query of a raw target. Throws what `parsePairs` throws. */
export function readQuery(target: string): Record<string, string> {
  const start = target.indexOf('?');
  return start < 0 ? {} : parsePairs(target.slice(start + 1), 'query');
}

/**
 * Throws `invalid_request` with the field, whose path begins with `where`. A repeated name is refused, because readers disagree
 * about which one counts; a broken escape is refused, because it has no meaning.
 */
export function parsePairs(text: string, where: string): Record<string, string> {
  const record: Record<string, string> = {};
  const pairs = text.split('&', PAIRS_MAX + 1);
  if (pairs.length > PAIRS_MAX) throw refuseField(where, `has more than ${PAIRS_MAX} parameters`);
  for (const pair of pairs) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const name = decode(equals < 0 ? pair : pair.slice(0, equals), where);
    const value = equals < 0 ? '' : decode(pair.slice(equals + 1), where);
    if (Object.hasOwn(record, name)) throw refuseField(`${where}.${name.slice(0, 100)}`, 'is given twice');
    // An assignment to `__proto__` would change the prototype and not make a field.
    Object.defineProperty(record, name, { value, enumerable: true, configurable: true, writable: true });
  }
  return record;
}

function decode(text: string, where: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw refuseField(`${where}.${text.slice(0, 100)}`, 'has a broken escape');
  }
}
