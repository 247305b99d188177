// The one form in which names of hosts are compared: lower case, every label in ASCII, no dot at the end. Pure.
import { domainToASCII } from 'node:url';

/** The characters of a name at the most, without the dot at the end. In the script of its country a name is shorter than in ASCII. */
const NAME_MAX = 253;
const NAME = /^[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*$/;
const OF_NO_NAME = /[\0-,/:-@[-^`{-\x7f]/;
/** A host that ends like this is an address to programs: `127.1`, `2130706433` and `0x7f.1` lead to this machine. */
const ADDRESS_END = /(?:^|\.)(?:[0-9]+|0x[0-9a-f]*)$/;

/**
 * `text` in any case, with or without a dot at its end, its labels in any script. Undefined for what is no name: addresses, empty and
 * over-long labels (63 characters), over-long names (253), and signs other than letters, digits, `-` and `_`.
 */
export function normalizeName(text: string): string | undefined {
  if (text.length > NAME_MAX + 1 || OF_NO_NAME.test(text)) return undefined;
  const ascii = isAscii(text) ? text.toLowerCase() : domainToASCII(text);
  const name = ascii.endsWith('.') ? ascii.slice(0, -1) : ascii;
  return name.length <= NAME_MAX && NAME.test(name) && !ADDRESS_END.test(name) ? name : undefined;
}

function isAscii(text: string): boolean {
  return /^[\0-\x7f]*$/.test(text);
}
