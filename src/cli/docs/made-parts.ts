// Replaces the generated parts of a page: the text between two markers is made again, the rest is kept. Pure.

const OPEN = /^<!-- made: ([\w-]+) -->$/;
const CLOSE = '<!-- end -->';

/**
 * The page with each marked part made again. Throws when a part of the page is not in `parts`, stands there twice or has no
 * end, and when the page lacks one of `parts`.
 */
export function replaceMadeParts(page: string, parts: Readonly<Record<string, () => string>>): string {
  const made: string[] = [];
  const done = new Set<string>();
  let open: string | undefined;
  for (const line of page.split('\n')) {
    if (open !== undefined) {
      if (line !== CLOSE) continue;
      made.push(CLOSE);
      open = undefined;
      continue;
    }
    made.push(line);
    open = OPEN.exec(line)?.[1];
    if (open === undefined) continue;
    const make = parts[open];
    if (make === undefined || done.has(open)) throw new Error(`the part ${open} is unknown or stands there twice`);
    done.add(open);
    made.push('', make(), '');
  }
  if (open !== undefined) throw new Error(`the part ${open} has no end; write ${CLOSE} on a line of its own`);
  const missing = Object.keys(parts).filter((name) => !done.has(name));
  if (missing.length > 0) throw new Error(`these parts have no place in the page: ${missing.join(', ')}`);
  return made.join('\n');
}
