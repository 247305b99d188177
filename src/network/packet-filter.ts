// What the kernel lets out of this machine: the rules of one policy after another, without a moment in between in which it would be open.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Netfilter } from './netfilter.ts';
import {
  LAST_GENERATION,
  NO_RULESET,
  type OpenAddress,
  type RulesetFacts,
  TABLE,
  toClosing,
  toKeeping,
  toOpening,
  toRuleset,
} from './ruleset.ts';

/** How many addresses one step tells the kernel: some milliseconds. */
const STEP = 200;
const chains = ['names', 'output', 'forward', 'refuse'] as const;

export type FilterFacts = Omit<RulesetFacts, 'generation'>;

export class PacketFilter {
  readonly #netfilter: Netfilter;
  #facts: RulesetFacts | undefined;
  /** The rules as the kernel shows them. */
  #shown = '';

  constructor(netfilter: Netfilter) {
    this.#netfilter = netfilter;
  }

  /** Undefined while nothing is restricted. */
  get generation(): number | undefined {
    return this.#facts?.generation;
  }

  /**
   * Takes over what the process before has left in the kernel, with the generation that it had: connections go on. Without rules in the
   * kernel it puts them there.
   */
  async adopt(
    facts: FilterFacts,
    generation: number,
    { open, kept }: { readonly open: readonly OpenAddress[]; readonly kept: readonly string[] },
  ): Promise<void> {
    const held = { ...facts, generation };
    try {
      this.#put(held);
    } catch {
      // Sets of another version may have other forms, which the kernel does not change.
      this.#facts = held;
      await this.putBack(open, kept);
    }
  }

  /**
   * The next policy holds when it resolves. Connections that the one before allowed go on to the addresses in `kept`, and are refused to all
   * others. Throws NetfilterError; the policy before holds then, without the addresses in `closed`.
   */
  async restrict(
    facts: FilterFacts,
    { closed, kept }: { readonly closed: readonly string[]; readonly kept: readonly string[] },
  ): Promise<void> {
    const { generation = 0 } = this.#facts ?? {};
    const next = { ...facts, generation: (generation % LAST_GENERATION) + 1 };
    const isFirst = this.#facts === undefined;
    try {
      // The sets have to be there.
      if (isFirst) this.#put(next);
      await this.#inSteps(closed, toClosing);
      await this.#inSteps(kept, toKeeping);
      this.#put(next);
    } catch (error) {
      if (isFirst) this.lift();
      throw error;
    }
  }

  /** Nothing is restricted any more. */
  lift(): void {
    this.#netfilter.run(NO_RULESET);
    this.#facts = undefined;
  }

  open(addresses: readonly OpenAddress[]): void {
    if (addresses.length > 0) this.#netfilter.run(toOpening(addresses));
  }

  close(addresses: readonly string[]): void {
    if (addresses.length > 0) this.#netfilter.run(toClosing(addresses));
  }

  /** Whether the rules are as they were put there. A tenth of a millisecond. */
  isWhole(): boolean {
    return this.#facts === undefined || this.#show() === this.#shown;
  }

  /** Puts back what somebody took away. Addresses are open again for as long as they would have been. */
  async putBack(open: readonly OpenAddress[], kept: readonly string[]): Promise<void> {
    if (this.#facts === undefined) return;
    // A table that somebody has changed is taken away in the same step.
    this.#netfilter.run(NO_RULESET + toRuleset(this.#facts));
    this.#shown = this.#show();
    await this.#inSteps(open, toOpening);
    await this.#inSteps(kept, toKeeping);
  }

  #put(facts: RulesetFacts): void {
    this.#netfilter.run(toRuleset(facts));
    this.#facts = facts;
    this.#shown = this.#show();
  }

  #show(): string {
    try {
      return chains.map((name) => JSON.stringify(this.#netfilter.list(`list chain ${TABLE} ${name}`))).join();
    } catch {
      return '';
    }
  }

  async #inSteps<T>(all: readonly T[], toCommands: (some: readonly T[]) => string): Promise<void> {
    for (let at = 0; at < all.length; at += STEP) {
      this.#netfilter.run(toCommands(all.slice(at, at + STEP)));
      await nextTurn();
    }
  }
}
