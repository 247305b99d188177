// Which destinations came from which names, and until when each is open. Pure, with the time given.
import { type Destination, OPEN_MAX, type OpenDestination, toAddress } from './ruleset.ts';

export interface LearntDestination {
  readonly destination: Destination;
  /** How long the answer lives. */
  readonly open_s: number;
}

/** An address is open for a quarter longer than its answer lives: programs use answers to their end, and a name that is asked again and again is told to the kernel rarely. */
const LONGER_SHARE = 0.25;
const LONGER_MAX_S = 30;
/** The most names of one destination: a content network has more, and the last ones count. */
const NAMES_MAX = 16;
/** The most characters of all names together: who owns a name can make a new one up for each question. */
const CHARACTERS_MAX = 16_000_000;
/** A name has none of it. */
const SEPARATOR = ' ';

export interface Learnt {
  readonly opened: readonly OpenDestination[];
  readonly closed: readonly Destination[];
}

interface Known {
  /** The names that lead to it, each with the aliases on the way. The last one learnt is the last one here. */
  readonly names: Map<string, readonly string[]>;
  open_until_ms: number;
}

export class AddressBook {
  /** The one that was learnt longest ago is the first. */
  readonly #known = new Map<string, Known>();
  readonly #max: number;
  readonly #charactersMax: number;
  #characters = 0;

  /** It remembers at most `max` destinations, with names of at most `charactersMax` together. */
  constructor(max = OPEN_MAX, charactersMax = CHARACTERS_MAX) {
    this.#max = max;
    this.#charactersMax = charactersMax;
  }

  get size(): number {
    return this.#known.size;
  }

  /**
   * Returns what has to be opened, or opened for longer, before the answer may be passed on, and what has to be closed to stay below the most.
   * `aliases`: the names that `name` leads to, without itself.
   */
  learn(name: string, answers: readonly LearntDestination[], now_ms: number, aliases: readonly string[] = []): Learnt {
    const opened = answers.flatMap(({ destination, open_s: lives_s }) => {
      const known = this.#touch(destination);
      this.#remove(known, name);
      this.#add(known, name, aliases);
      if (known.open_until_ms - now_ms >= lives_s * 1_000) return [];
      const open_s = lives_s + Math.min(LONGER_MAX_S, Math.ceil(lives_s * LONGER_SHARE));
      known.open_until_ms = now_ms + open_s * 1_000;
      return [{ destination, ttl_s: open_s }];
    });
    return { opened, closed: this.#dropMost() };
  }

  /** The names that have led there, the last one first. `is_open`: new connections are let through. */
  find(destination: Destination, now_ms: number): { readonly names: readonly string[]; readonly is_open: boolean } {
    const known = this.#known.get(destination);
    if (known === undefined) return { names: [], is_open: false };
    return { names: [...known.names.keys()].reverse(), is_open: known.open_until_ms > now_ms };
  }

  /** Looks at every destination: for people who ask. */
  addressesOf(name: string): string[] {
    const found = [...this.#known].flatMap(([destination, { names }]) =>
      names.has(name) ? [toAddress(destination)] : [],
    );
    return [...new Set(found)];
  }

  /** What is open at this moment, and for how long. */
  open(now_ms: number): OpenDestination[] {
    return [...this.#known].flatMap(([destination, { open_until_ms }]) =>
      open_until_ms > now_ms ? [{ destination, ttl_s: Math.ceil((open_until_ms - now_ms) / 1_000) }] : [],
    );
  }

  /** All that is known; those that are not open any more are among them, because connections to them may be. */
  destinations(): Destination[] {
    return [...this.#known.keys()];
  }

  /**
   * Forgets what is no longer allowed. `closed`: destinations of which no name is allowed. `kept`: all others.
   */
  judge(isAllowed: (name: string, aliases: readonly string[], destination: Destination) => boolean): {
    readonly closed: readonly Destination[];
    readonly kept: readonly Destination[];
  } {
    const closed: Destination[] = [];
    for (const [destination, known] of this.#known) {
      const { names } = known;
      for (const [name, aliases] of names) if (!isAllowed(name, aliases, destination)) this.#remove(known, name);
      if (names.size > 0) continue;
      closed.push(destination);
      this.#known.delete(destination);
    }
    return { closed, kept: this.destinations() };
  }

  /** What the process that comes after this one needs: a destination, until when it is open, and each name with its aliases behind it. */
  toJSON(): [string, number, string[]][] {
    return [...this.#known].map(([destination, { names, open_until_ms }]) => [
      destination,
      open_until_ms,
      [...names].map(([name, aliases]) => [name, ...aliases].join(SEPARATOR)),
    ]);
  }

  /** Takes over what another process has left. */
  restore(left: ReturnType<AddressBook['toJSON']>): void {
    for (const [destination, open_until_ms, names] of left) {
      const known = this.#touch(destination);
      known.open_until_ms = open_until_ms;
      for (const text of names) {
        const [name = '', ...aliases] = text.split(SEPARATOR);
        this.#add(known, name, aliases);
      }
    }
  }

  #add(known: Known, name: string, aliases: readonly string[]): void {
    known.names.set(name, aliases);
    this.#characters += toLength(name, aliases);
    for (const first of known.names.keys()) {
      if (known.names.size <= NAMES_MAX) return;
      this.#remove(known, first);
    }
  }

  #remove(known: Known, name: string): void {
    const aliases = known.names.get(name);
    if (aliases === undefined) return;
    known.names.delete(name);
    this.#characters -= toLength(name, aliases);
  }

  #touch(destination: Destination): Known {
    const known = this.#known.get(destination) ?? { names: new Map(), open_until_ms: Number.NEGATIVE_INFINITY };
    this.#known.delete(destination);
    this.#known.set(destination, known);
    return known;
  }

  /** The last one stays. */
  #dropMost(): Destination[] {
    const dropped: Destination[] = [];
    for (const [destination, known] of this.#known) {
      const isWithin = this.#known.size <= this.#max && this.#characters <= this.#charactersMax;
      if (isWithin || this.#known.size === 1) break;
      for (const name of [...known.names.keys()]) this.#remove(known, name);
      this.#known.delete(destination);
      dropped.push(destination);
    }
    return dropped;
  }
}

function toLength(name: string, aliases: readonly string[]): number {
  return aliases.reduce((sum, alias) => sum + alias.length, name.length);
}
