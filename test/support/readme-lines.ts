// The lines of the README that are to be pasted.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The directory of the checkout, with a slash at its end. */
export const top = new URL('../../', import.meta.url).pathname;

/** The commands in the first block of a terminal below the paragraph that begins with `text`. */
export function readmeLines(text: string): string[] {
  const page = readFileSync(join(top, 'README.md'), 'utf8');
  const [, block = ''] = new RegExp(`^${text}[\\s\\S]*?\`\`\`console\\n([\\s\\S]*?)\`\`\``, 'm').exec(page) ?? [];
  return block
    .split('\n')
    .filter((line) => line.startsWith('$ '))
    .map((line) => line.slice(2));
}
