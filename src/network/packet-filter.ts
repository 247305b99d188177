// What the kernel lets out of this machine: the rules of one policy after another, without a moment in between in which it would be open.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Netfilter } from './netfilter.ts';
import {
  type Destination,
  FORGETTING,
  LAST_GENERATION,
  NO_RULESET,
  type OpenDestination,
  type RulesetFacts,
  TABLE,
  toClosing,
  toKeeping,
  toOpening,
  toRuleset,
} from './ruleset.ts';

/** How many addresses one step tells the kernel: some milliseconds. */
const STEP = 200;
/** The library reads every address that is open before it shows the rules: fifty milliseconds where 20,000 are. That takes a thousandth of the time. */
const REST_PER_LOOK = 1_000;

/** What a policy makes of the addresses that are known. */
export interface Judged {
  readonly open: readonly OpenDestination[];
  readonly closed: readonly Destination[];
  readonly kept: readonly Destination[];
}

export type FilterFacts = Omit<RulesetFacts, 'generation'>;

export class PacketFilter {
  readonly #netfilter: Netfilter;
  #facts: RulesetFacts | undefined;
  /** That of the last policy. It grows on when nothing is restricted for a while: older connections still carry theirs. */
  #generation: number;
  /** What the kernel shows: the chains, which cost nothing, and the whole table. */
  #shown = { chains: '', table: '' };
  /** When the whole table is looked at again, by `performance.now`. */
  #again_ms = 0;

  /** @param generation of the last policy that the process before has enforced; 0 where there was none. */
  constructor(netfilter: Netfilter, generation = 0) {
    this.#netfilter = netfilter;
    this.#generation = generation;
  }

  get isRestricted(): boolean {
    return this.#facts !== undefined;
  }

  get generation(): number {
    return this.#generation;
  }

  /** The name servers whom the rules let this process ask; none while nothing is restricted. */
  get upstreams(): readonly string[] {
    return this.#facts?.upstreams ?? [];
  }

  /**
   * Takes over what the process before has left in the kernel, with its generation: connections go on. Only these addresses are
   * open then: of others nobody would know to close them. Without rules in the kernel it puts them there.
   */
  async adopt(facts: FilterFacts, { open, kept }: Omit<Judged, 'closed'>): Promise<void> {
    const held = { ...facts, generation: this.#generation };
    try {
      this.#put(held, FORGETTING + toOpening(open) + toKeeping(kept));
    } catch {
      // Sets of another version may have other forms, which the kernel does not change.
      this.#facts = held;
      await this.putBack(open, kept);
    }
  }

  /** The same policy in a machine whose facts are others. False when they are those that the rules have. Throws NetfilterError. */
  renew(facts: FilterFacts): boolean {
    if (this.#facts === undefined) return false;
    const next = { ...facts, generation: this.#generation };
    if (isDeepStrictEqual(next, this.#facts)) return false;
    this.#put(next);
    return true;
  }

  /**
   * The next policy holds when it resolves. Connections that the one before allowed go on to the addresses in `kept`, and are refused to all
   * others. Throws NetfilterError; the policy before holds then, without the addresses in `closed`.
   */
  async restrict(facts: FilterFacts, { open, closed, kept }: Judged): Promise<void> {
    const next = { ...facts, generation: (this.#generation % LAST_GENERATION) + 1 };
    const isFirst = this.#facts === undefined;
    try {
      // The sets have to be there, and nothing is in them.
      if (isFirst) this.#put(next);
      await this.#inSteps(isFirst ? open : [], toOpening);
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

  open(all: readonly OpenDestination[]): void {
    if (all.length > 0) this.#netfilter.run(toOpening(all));
  }

  close(all: readonly Destination[]): void {
    if (all.length > 0) this.#netfilter.run(toClosing(all));
  }

  /** Whether the rules are as they were put there. A table that is gone is seen at once, a rule that is gone when the whole is looked at. */
  isWhole(): boolean {
    if (this.#facts === undefined) return true;
    if (this.#showChains() !== this.#shown.chains) return false;
    return performance.now() < this.#again_ms || this.#showTable() === this.#shown.table;
  }

  /** Puts back what somebody took away. Addresses are open again for as long as they would have been. */
  async putBack(open: readonly OpenDestination[], kept: readonly Destination[]): Promise<void> {
    if (this.#facts === undefined) return;
    // A table that somebody has changed is taken away in the same step.
    this.#netfilter.run(NO_RULESET + toRuleset(this.#facts));
    this.#shown = { chains: this.#showChains(), table: this.#showTable() };
    await this.#inSteps(open, toOpening);
    await this.#inSteps(kept, toKeeping);
  }

  #put(facts: RulesetFacts, more = ''): void {
    this.#netfilter.run(toRuleset(facts) + more);
    this.#facts = facts;
    this.#generation = facts.generation;
    this.#shown = { chains: this.#showChains(), table: this.#showTable() };
  }

  /** Other tables of the family are none of ours. */
  #showChains(): string {
    const shown = this.#print('list chains inet');
    return shown.split(/^(?=table )/m).find((table) => table.startsWith(`table ${TABLE} `)) ?? '';
  }

  #showTable(): string {
    const begun_ms = performance.now();
    const shown = this.#print(`list table ${TABLE}`);
    const ended_ms = performance.now();
    this.#again_ms = ended_ms + (ended_ms - begun_ms) * REST_PER_LOOK;
    return shown;
  }

  #print(command: string): string {
    try {
      return this.#netfilter.print(command);
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
