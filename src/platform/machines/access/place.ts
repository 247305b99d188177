// What keeps a start waiting while no more machines of its organization may run.

/** Carries out a move that ends with a start of the machine, perhaps after it has waited for a place. Throws what the move throws. */
export type Place = <T>(machine_id: string, signal: AbortSignal, move: () => Promise<T>) => Promise<T>;
