// Chance with a seed: xorshift32, so that the same seed asks the same questions.

export interface Dice {
  /** A whole number from 0 up to, and without, `count`. */
  below(count: number): number;
  pick<T>(items: readonly [T, ...T[]]): T;
  chance(percent: number): boolean;
}

export function createDice(seed: string): Dice {
  let state = Number.parseInt(seed, 16) | 1;
  const below = (count: number) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % count;
  };
  return {
    below,
    pick: (items) => items[below(items.length)] ?? items[0],
    chance: (percent) => below(100) < percent,
  };
}
