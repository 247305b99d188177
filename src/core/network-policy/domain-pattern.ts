// The pattern of a rule: one name, the names below one, or every name. Pure.
import { normalizeName } from './domain-name.ts';

/** `name` is normalized. Of `below` it is the parent, which the pattern does not cover; empty when the pattern covers every name. */
export interface DomainPattern {
  readonly type: 'exact' | 'below';
  readonly name: string;
}

export interface PatternProblem {
  readonly type: 'problem';
  /** What is wrong, and what to write. */
  readonly message: string;
}

const FORMS = 'write a name such as example.com, *.example.com for the names below it, or * for every name';

/** Reads `example.com`, `*.example.com` and `*`. */
export function readPattern(domain: string): DomainPattern | PatternProblem {
  if (domain === '*') return { type: 'below', name: '' };
  const isBelow = domain.startsWith('*.');
  const rest = isBelow ? domain.slice(2) : domain;
  const name = normalizeName(rest);
  if (name === undefined) return { type: 'problem', message: findProblem(rest) };
  return { type: isBelow ? 'below' : 'exact', name };
}

/** `text` is what stands for a name and is none. */
function findProblem(text: string): string {
  if (text === '') return `there is no name; ${FORMS}`;
  if (text.includes('*')) return `a * stands alone, or as the first label of a name; ${FORMS}`;
  if (/^\.|\.\./.test(text)) return `has an empty label; ${FORMS}`;
  if (text.includes('/')) return `has a scheme, a path or a range of addresses; ${FORMS}`;
  if (/^[0-9.]+$|^0x|^\[|:.*:/i.test(text)) {
    return 'is an address, and rules are of names: an address is reached by an allowed name that leads to it';
  }
  if (text.includes(':')) return `has a port, and a rule covers every port; ${FORMS}`;
  const [label] = text.split('.').filter((each) => each.length > 63);
  if (label !== undefined || text.length > 253) return 'is too long: a label has at most 63 characters, a name 253';
  return `is no name of a host: it has letters, digits, "-" and "_", and does not end in a number; ${FORMS}`;
}
