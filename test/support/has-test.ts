// Whether a test exists by its title, for tables that name tests as proofs.
import { existsSync, readFileSync } from 'node:fs';

const root = new URL('../', import.meta.url).pathname;

/** `file`: below `test`. The title is that of a call, or of a case in a table of `test.each`. */
export function hasTest(file: string, title: string): boolean {
  if (!existsSync(root + file)) return false;
  const text = readFileSync(root + file, 'utf8');
  return ["'", '`', '"'].some((quote) =>
    [`(${quote}${title}${quote},`, `${quote}${title}${quote},`].some((call) => text.includes(call)),
  );
}
