// Removes parameters from a query by name, however leniently a server reads names. Pure.

/** A name that every server reads in the same way. */
const PLAIN = /^[a-z0-9_-]*$/;

/** Drops parameters by name, however their names are written, and leaves every other byte alone. */
export function stripQuery(path: string, names: readonly string[]): string {
  const question = path.indexOf('?');
  if (question < 0 || names.length === 0) return path;
  const folded = new Set(names.map(foldName));
  const parts = path.slice(question + 1).split(/([&;])/);
  const kept: string[] = [];
  let dropped = false;
  for (let index = 0; index < parts.length; index += 2) {
    const part = parts[index] ?? '';
    if (folded.has(toName(part))) {
      dropped = true;
      continue;
    }
    if (kept.length > 0) kept.push(parts[index - 1] ?? '&');
    kept.push(part);
  }
  if (!dropped) return path;
  const bare = path.slice(0, question);
  return kept.length === 0 ? bare : `${bare}?${kept.join('')}`;
}

/** Cuts a name at a bracket or a zero byte, as some servers do. */
function toName(part: string): string {
  const equals = part.indexOf('=');
  const raw = equals < 0 ? part : part.slice(0, equals);
  if (PLAIN.test(raw)) return raw;
  const name = decode(raw.replaceAll('+', ' '));
  const end = name.search(/[[\0]/);
  return foldName(end < 0 ? name : name.slice(0, end));
}

/** Ignores case, and the characters that some languages replace in names of variables. */
function foldName(name: string): string {
  return name.trim().toLowerCase().replaceAll(/[. ]/g, '_');
}

/** Decodes escapes one by one, so that a broken one does not hide the others. */
function decode(text: string): string {
  return text.replaceAll(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}
