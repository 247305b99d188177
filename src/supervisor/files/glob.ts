// The pattern of a list: `*` is any run of characters, `?` one, `[a-z]` one of these, `[!a-z]` one of the others, `\` takes the next one as
// it is. Without a slash it is matched with the name; with one, with the path below the directory, and `**` is any number of directories.
// The time is the product of both lengths, whatever the pattern. Pure.

export interface Glob {
  /** `path`: relative to the directory that is listed. */
  matches(path: string): boolean;
}

export function parseGlob(pattern: string): Glob {
  const parts = pattern.replace(/^\.?\//, '').split('/');
  const steps = parts.map((part) => (part === '**' ? ANY_DIRECTORIES : parsePart(part)));
  if (parts.length === 1) return { matches: (path) => matchesRun([...(path.split('/').at(-1) ?? '')], steps[0] ?? []) };
  return { matches: (path) => matchesDirectories(path.split('/'), steps) };
}

type Token = '*' | ((character: string) => boolean);

/** Alone in a part of the path; elsewhere `**` is `*`. */
const ANY_DIRECTORIES: readonly Token[] = ['*'];

function parsePart(part: string): readonly Token[] {
  const characters = [...part];
  const tokens: Token[] = [];
  for (let index = 0; index < characters.length; index += 1) {
    const character = characters[index] as string;
    const end = character === '[' ? characters.indexOf(']', index + 2) : -1;
    if (character === '*') {
      if (tokens.at(-1) !== '*') tokens.push('*');
    } else if (character === '?') {
      tokens.push(() => true);
    } else if (end > 0) {
      tokens.push(toSet(characters.slice(index + 1, end)));
      index = end;
    } else {
      if (character === '\\' && index + 1 < characters.length) index += 1;
      const wanted = characters[index];
      tokens.push((given) => given === wanted);
    }
  }
  return tokens;
}

function toSet(inside: readonly string[]): (character: string) => boolean {
  const isNot = inside[0] === '!' || inside[0] === '^';
  const listed = isNot ? inside.slice(1) : inside;
  const ranges: [string, string][] = [];
  for (let index = 0; index < listed.length; index += 1) {
    const from = listed[index] as string;
    const isRange = listed[index + 1] === '-' && index + 2 < listed.length;
    ranges.push([from, isRange ? (listed[index + 2] as string) : from]);
    if (isRange) index += 2;
  }
  return (given) => ranges.some(([from, to]) => given >= from && given <= to) !== isNot;
}

function matchesRun(characters: readonly string[], tokens: readonly Token[]): boolean {
  return reaches(characters.length, tokens.length, (at, token) => {
    const wanted = tokens[token] as Token;
    return wanted === '*' ? 'any' : wanted(characters[at] ?? '');
  });
}

function matchesDirectories(parts: readonly string[], steps: readonly (readonly Token[])[]): boolean {
  const runs = parts.map((part) => [...part]);
  return reaches(runs.length, steps.length, (at, step) => {
    const tokens = steps[step] as readonly Token[];
    return tokens === ANY_DIRECTORIES ? 'any' : matchesRun(runs[at] ?? [], tokens);
  });
}

/** Whether all of `length` units are used up by all of `count` tokens; a token that is `any` takes any number of units. */
function reaches(length: number, count: number, fits: (unit: number, token: number) => boolean | 'any'): boolean {
  let row = Array.from({ length: length + 1 }, (_, unit) => unit === 0);
  for (let token = 0; token < count; token += 1) {
    const next = new Array<boolean>(length + 1).fill(false);
    for (let unit = 0; unit <= length; unit += 1) {
      const fit = unit < length ? fits(unit, token) : fits(Math.max(0, length - 1), token) === 'any' ? 'any' : false;
      if (fit === 'any') next[unit] = row[unit] === true || (unit > 0 && next[unit - 1] === true);
      else if (fit && row[unit] === true) next[unit + 1] = true;
    }
    row = next;
  }
  return row[length] === true;
}
