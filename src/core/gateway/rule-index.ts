// Finds the rules of a policy by the path. The cost grows with the length of the path, and hardly with the number of rules,
// however alike they are. Pure.

export interface RuleForm {
  /** The whole path, or its prefix. */
  readonly text: string;
  readonly isPrefix: boolean;
  /** Where the rule stands in its list. When several match, the first one is found. */
  readonly place: number;
}

/** Both methods answer with the place of the rule; undefined when there is none. */
export interface RuleIndex {
  /** Finds the path among the whole texts. */
  findWhole(path: string): number | undefined;
  /** Finds the first of the prefixes that the path begins with. */
  findBegin(path: string): number | undefined;
}

interface Prefix {
  readonly text: string;
  /** The lowest place among the rules that are a prefix of this one, itself included. */
  readonly place: number;
  /** The longest other prefix that this one begins with. */
  readonly shorter: Prefix | undefined;
}

export function createRuleIndex(forms: readonly RuleForm[]): RuleIndex {
  const exact = toPlaces(forms.filter(({ isPrefix }) => !isPrefix));
  const prefixes = toPrefixes(toPlaces(forms.filter(({ isPrefix }) => isPrefix)));
  const longest = prefixes.reduce((length, { text }) => Math.max(length, text.length), 0);
  return {
    findWhole: (path) => exact.get(path),
    findBegin: (path) => (prefixes.length === 0 ? undefined : findPrefix(prefixes, path.slice(0, longest))?.place),
  };
}

function toPlaces(forms: readonly RuleForm[]): ReadonlyMap<string, number> {
  const places = new Map<string, number>();
  for (const { text, place } of forms) places.set(text, Math.min(place, places.get(text) ?? place));
  return places;
}

/**
 * Sorts by code units, so that every text that begins with a prefix comes right after it. The beginning is cut off and compared,
 * because `startsWith` takes several times as long for long texts.
 */
function toPrefixes(places: ReadonlyMap<string, number>): readonly Prefix[] {
  const prefixes: Prefix[] = [];
  for (const text of [...places.keys()].sort()) {
    let shorter = prefixes.at(-1);
    while (shorter !== undefined && text.slice(0, shorter.text.length) !== shorter.text) shorter = shorter.shorter;
    const own = places.get(text) ?? 0;
    prefixes.push({ text, place: Math.min(own, shorter?.place ?? own), shorter });
  }
  return prefixes;
}

/** The longest prefix of the path: among the texts up to the path, it is the last one or one that the last one begins with. */
function findPrefix(prefixes: readonly Prefix[], path: string): Prefix | undefined {
  let from = 0;
  let to = prefixes.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((prefixes[middle]?.text ?? '') <= path) from = middle + 1;
    else to = middle;
  }
  let found = prefixes[from - 1];
  if (found === undefined) return undefined;
  const shared = sharedLength(found.text, path);
  while (found !== undefined && found.text.length > shared) found = found.shorter;
  return found;
}

function sharedLength(one: string, other: string): number {
  const end = Math.min(one.length, other.length);
  let index = 0;
  while (index < end && one.charCodeAt(index) === other.charCodeAt(index)) index += 1;
  return index;
}
