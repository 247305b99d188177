// `did you mean`: the known word that a mistyped one is nearest to. Pure.

/** Longer words are not compared, which bounds the work. */
const WORD_CAP = 40;

/** Undefined when nothing is near: more than a third of the letters would have to change. */
export function suggest(given: string, known: Iterable<string>): string | undefined {
  if (given.length > WORD_CAP) return undefined;
  let best: { readonly word: string; readonly distance: number } | undefined;
  for (const word of known) {
    if (word.length > WORD_CAP) continue;
    const distance = word.startsWith(given) && given.length >= 3 ? 0.5 : distanceOf(given, word);
    if (best === undefined || distance < best.distance) best = { word, distance };
  }
  if (best === undefined || best.distance > Math.max(1, Math.floor(given.length / 3))) return undefined;
  return best.word;
}

/** The number of letters inserted, removed, changed, or swapped with their neighbour (optimal string alignment distance). */
function distanceOf(one: string, other: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let row = 1; row <= one.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= other.length; column += 1) {
      const isSame = one[row - 1] === other[column - 1];
      const changed = (last[column - 1] ?? 0) + (isSame ? 0 : 1);
      let least = Math.min(changed, (last[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1);
      const isSwap = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      if (row > 1 && column > 1 && isSwap) least = Math.min(least, (beforeLast[column - 2] ?? 0) + 1);
      current.push(least);
    }
    beforeLast = last;
    last = current;
  }
  return last[other.length] ?? 0;
}
