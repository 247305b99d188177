// Texts of a given length that are made to cost their reader as much as can be.

/** Whatever a path gives a meaning to, plain and encoded once, twice and oddly; what grows when it is normalised; and plain text. */
export const pathUnits = [
  ...['/', ';', '.', '*', 'a', 'A', '//', ';/', './', '..a/'],
  ...['%2f', '%5c', '%20', '%20/', '%3b', '%3f', '%23', '%2e', '%25', '%2541', '%252f', '%25%32%66', '%252561'],
  ...['%C2%AD', '%E2%80%8B', '%EF%BD%81', '%CC%80', '%CC%80%CC%96', '%EF%B7%BA', '%EF%BE%9E', '%C4%B0', '%CE%A3'],
] as const;

/** `head`, then `unit` as often as it fits into `length`, then `tail`. */
export function fill(unit: string, length: number, head = '', tail = ''): string {
  const count = Math.floor((length - head.length - tail.length) / unit.length);
  return head + unit.repeat(Math.max(0, count)) + tail;
}

/** Every pair of the units in turn, and every unit alone. */
export function* pairsOf(units: readonly string[]): Generator<string> {
  for (const one of units) {
    yield one;
    for (const other of units) if (other !== one) yield one + other;
  }
}
