// The form of a path rule in an access policy that a caller sends. A rule that could never cover a path is refused: as a block rule
// it would leave open what it seems to close.
import * as z from './lazy-zod.ts';

/** A hex digit, plain or as an escape. */
const DIGIT = '(?:[0-9A-Fa-f]|%3[0-9]|%[46][1-6])';
const ENCODED_TWICE = new RegExp(`%25${DIGIT}${DIGIT}`, 'i');

/** What is wrong with the rule, and what to do; undefined when nothing is. */
function findProblem(rule: string): string | undefined {
  if (rule.slice(0, -1).includes('*')) {
    return 'a "*" may stand at the end only; it covers every path that begins with what is before it';
  }
  if (/[?#]/.test(rule)) return 'a rule is compared with the path only; leave out the query and the fragment';
  if (/[^\x21-\x7e]|\\/.test(rule)) return 'write the rule as the path stands in a request, percent-encoded';
  if (/%(?![0-9A-Fa-f]{2})/.test(rule)) return 'a "%" begins an escape such as %20; write %25 for the sign itself';
  if (ENCODED_TWICE.test(rule))
    return 'the rule is percent-encoded twice; once covers the path that is encoded twice, too';
  if (/\/\.\.?(?:\/|$)/.test(rule)) return 'the rule has a dot segment, and no path with one is forwarded';
  return undefined;
}

export const policyRule = z
  .string()
  .max(2048)
  .regex(/^(?:\/|\*$)/, {
    error: 'a rule begins with "/", after the address of the provider; "*" alone covers every path',
    abort: true,
  })
  .superRefine((rule, context) => {
    const message = findProblem(rule);
    if (message !== undefined) context.addIssue({ code: 'custom', message });
  });
