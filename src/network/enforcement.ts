// The network policy that holds in this machine, from the rules that the agent sends: names are judged here, addresses by the kernel.
import { isIPv6 } from 'node:net';
import type { NetworkEnforcement, NetworkState } from '../contract/local/network.ts';
import type { NetworkExplanation, NetworkQuestion, NetworkRefusal } from '../contract/network-explanations.ts';
import { type AddressBytes, compileRanges, toAddressBytes } from '../core/network-policy/address-ranges.ts';
import { isBlockedAddress } from '../core/network-policy/blocked-addresses.ts';
import { compilePolicy, type NetworkPolicy } from '../core/network-policy/compile-policy.ts';
import { findDeniedAlias } from '../core/network-policy/denied-alias.ts';
import { normalizeName } from '../core/network-policy/domain-name.ts';
import { readHost } from '../core/network-policy/read-host.ts';
import { AddressBook } from './address-book.ts';
import type { Attempts } from './attempts.ts';
import type { FilterFacts, PacketFilter } from './packet-filter.ts';
import { NameRefusals } from './refusals.ts';
import { type Destination, toAddress, toDestination } from './ruleset.ts';

export interface EnforcementOptions {
  readonly filter: PacketFilter;
  /** What the rules of the kernel need to know of this machine, at this moment. */
  readonly readFacts: () => Omit<FilterFacts, 'exemptions'>;
  /** Ends connections that lie idle; `isAllowed` says which of them may stay. */
  readonly endConnections: (isAllowed: (address: string, port: number) => boolean) => Promise<void>;
  readonly listRefusedAddresses: () => NetworkRefusal[];
  /** Who tries to reach what is noted while something is restricted. */
  readonly attempts: Pick<Attempts, 'begin' | 'end'>;
  readonly now_ms: () => number;
}

const SEARCH_EVERY_MS = 50;

/** An address of an answer, and how long the answer lives. */
export interface AnsweredAddress {
  readonly address: string;
  readonly open_s: number;
}

export class Enforcement {
  readonly #options: EnforcementOptions;
  readonly #book = new AddressBook();
  readonly refusals = new NameRefusals();
  #given: NetworkEnforcement = { rules: [], exempt: { names: [], networks: [] } };
  #policy: NetworkPolicy | undefined;
  #exempt: ReadonlyMap<string, ExemptPorts> = new Map();
  #exemptRanges: readonly ExemptRange[] = [];
  #putBack = 0;
  #searched_ms = Number.NEGATIVE_INFINITY;
  /** One change after the other. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: EnforcementOptions) {
    this.#options = options;
  }

  get given(): NetworkEnforcement {
    return this.#given;
  }

  get book(): AddressBook {
    return this.#book;
  }

  /**
   * These rules hold when it resolves. Rejects with `invalid_request` for rules that are none, and with NetfilterError where the kernel
   * refuses them: those before hold then.
   */
  enforce(given: NetworkEnforcement): Promise<NetworkState> {
    const change = this.#turn.then(() => this.#enforce(given));
    this.#turn = change.catch(() => undefined);
    return change;
  }

  /** Takes over what the process before has left. `book` has its addresses by now. */
  async adopt(given: NetworkEnforcement): Promise<void> {
    this.#policy = await compilePolicy(given.rules);
    this.#setGiven(given);
    const { filter, attempts, now_ms } = this.#options;
    const open = this.#book.open(now_ms());
    await attempts.begin();
    await filter.adopt(this.#toFacts(given), { open, kept: this.#book.destinations() });
  }

  async #enforce(given: NetworkEnforcement): Promise<NetworkState> {
    const policy = await compilePolicy(given.rules);
    const { filter, attempts } = this.#options;
    if (policy.isUnrestricted) {
      filter.lift();
      attempts.end();
      this.#policy = undefined;
      this.#setGiven(given);
      return this.state();
    }
    const facts = this.#toFacts(given);
    await attempts.begin();
    const before = { policy: this.#policy, given: this.#given };
    // A name that is asked from here on is judged by the next policy: an address of a denied one cannot come in between.
    this.#policy = policy;
    this.#setGiven(given);
    try {
      const judged = this.#book.judge(
        (name, aliases, destination) =>
          this.namePolicy.judgeName(name).verdict === 'allow' &&
          this.findDeniedAlias(name, aliases) === undefined &&
          this.#toDestinations(name, toAddress(destination)).includes(destination),
      );
      await filter.restrict(facts, { ...judged, open: this.#book.open(this.#options.now_ms()) });
    } catch (error) {
      this.#policy = before.policy;
      this.#setGiven(before.given);
      if (!filter.isRestricted) attempts.end();
      throw error;
    }
    await this.#options.endConnections((address, port) => this.#mayReach(address, port));
    return this.state();
  }

  state(): NetworkState {
    return {
      rules: this.#given.rules,
      put_back: this.#putBack,
      addresses: this.#book.size,
      refused_names: this.refusals.total,
    };
  }

  /** Judges names; the exempt ones are allowed. */
  readonly namePolicy: NetworkPolicy = {
    isUnrestricted: false,
    judgeName: (name) => {
      if (this.#policy === undefined || this.isExempt(name)) return { verdict: 'allow' };
      return this.#policy.judgeName(name);
    },
  };

  /** A name that is allowed whatever the rules say, and that may have a private address. */
  isExempt(name: string): boolean {
    return this.#exempt.has(normalizeName(name) ?? name);
  }

  /** The one that must not be reached among the names that `name` leads to. The exempt ones lead anywhere. */
  findDeniedAlias(name: string, aliases: readonly string[]): string | undefined {
    if (this.#policy === undefined || this.isExempt(name)) return undefined;
    return findDeniedAlias(aliases, this.namePolicy);
  }

  /** Counts a question for a denied name. Who asked is looked for now and then only: it takes milliseconds. */
  refuse(name: string, find: () => NetworkRefusal['process'] | undefined): void {
    const now_ms = this.#options.now_ms();
    const isNew = this.refusals.count(name, new Date(now_ms));
    if (!isNew || now_ms - this.#searched_ms < SEARCH_EVERY_MS) return;
    this.#searched_ms = now_ms;
    const found = find();
    if (found !== undefined) this.refusals.setProcess(name, found);
  }

  /** The addresses of an answer for `name`, to which its `aliases` have led: they are open when it returns. Throws NetfilterError. */
  learn(name: string, aliases: readonly string[], addresses: readonly AnsweredAddress[]): void {
    if (this.#policy === undefined) return;
    const given = addresses.flatMap(({ address, open_s }) =>
      this.#toDestinations(name, address).map((destination) => ({ destination, open_s })),
    );
    const { opened, closed } = this.#book.learn(name, given, this.#options.now_ms(), aliases);
    this.#options.filter.open(opened);
    this.#options.filter.close(closed);
  }

  /**
   * Puts the rules back where somebody has changed them, and has them follow what changes in this machine: its name servers and its ways out.
   * Rejects with NetfilterError.
   */
  keepWhole(): Promise<'whole' | 'put back' | 'renewed'> {
    const look = this.#turn.then(() => this.#keepWhole());
    this.#turn = look.catch(() => undefined);
    return look;
  }

  async #keepWhole(): Promise<'whole' | 'put back' | 'renewed'> {
    const { filter, now_ms } = this.#options;
    if (!filter.isRestricted) return 'whole';
    if (!filter.isWhole()) {
      this.#putBack += 1;
      await filter.putBack(this.#book.open(now_ms()), this.#book.destinations());
      return 'put back';
    }
    return filter.renew(this.#toFacts(this.#given)) ? 'renewed' : 'whole';
  }

  explain({ host, port }: NetworkQuestion): NetworkExplanation {
    const asked = readHost(host);
    return asked.type === 'name' ? this.#explainName(asked.name, port) : this.#explainAddress(asked.address, port);
  }

  listRefused(): NetworkRefusal[] {
    const all = [...this.refusals.list(), ...this.#options.listRefusedAddresses()];
    return all.sort((one, other) => other.last_at.localeCompare(one.last_at));
  }

  #explainName(name: string, port: number | undefined): NetworkExplanation {
    const addresses = this.#book.addressesOf(name);
    const found = { addresses, names: [] };
    if (this.#policy === undefined) return { decision: 'allow', reason: 'nothing is restricted', ...found };
    const exempt = this.#exempt.get(name);
    if (exempt === 'all' || (exempt !== undefined && (port === undefined || exempt.has(port))))
      return { decision: 'allow', reason: 'the platform, or named by the operator', ...found };
    const { verdict, rule } = this.#policy.judgeName(name);
    if (rule === undefined) return { decision: 'deny', reason: 'no rule covers the name', ...found };
    const by = rule.include === undefined ? `rule ${rule.index}` : `the preset ${rule.include} of rule ${rule.index}`;
    return {
      decision: verdict,
      reason: `${by} ${verdict === 'allow' ? 'allows' : 'denies'} ${rule.domain}`,
      rule,
      ...found,
    };
  }

  #explainAddress(address: string, port: number | undefined): NetworkExplanation {
    const { names, is_open } = this.#find(address, port);
    const found = { addresses: [address], names: [...names] };
    if (this.#policy === undefined) return { decision: 'allow', reason: 'nothing is restricted', ...found };
    if (this.#isExemptAddress(address, port)) {
      return { decision: 'allow', reason: 'the platform, or named by the operator', ...found };
    }
    if (is_open) {
      const shared = names.length > 1 ? '; several names share it, which an address does not tell apart' : '';
      return { decision: 'allow', reason: `an answer for ${names[0]} opened it${shared}`, ...found };
    }
    const [last] = names;
    const reason =
      last === undefined
        ? 'no allowed name has led to it'
        : `the answer for ${last} has run out; a new question opens it again`;
    return { decision: 'deny', reason, ...found };
  }

  #mayReach(address: string, port: number): boolean {
    return this.#find(address, port).names.length > 0 || this.#isExemptAddress(address, port);
  }

  /** What is known of the address, and of this port of it. */
  #find(address: string, port: number | undefined): ReturnType<AddressBook['find']> {
    const now_ms = this.#options.now_ms();
    const all = this.#book.find(address, now_ms);
    if (port === undefined) return all;
    const one = this.#book.find(toDestination(address, port), now_ms);
    return { names: [...new Set([...one.names, ...all.names])], is_open: one.is_open || all.is_open };
  }

  /** What an answer for `name` with this address opens: a name that is exempt with its ports alone leads to no others, unless the rules allow it. */
  #toDestinations(name: string, address: string): Destination[] {
    const ports = this.#exempt.get(normalizeName(name) ?? name);
    if (ports === undefined || ports === 'all') return [toDestination(address)];
    const bytes = toAddressBytes(address);
    const isAllowed =
      this.#policy?.judgeName(name).verdict === 'allow' && bytes !== undefined && !isBlockedAddress(bytes);
    return [...(isAllowed ? [undefined] : []), ...ports].map((port) => toDestination(address, port));
  }

  #isExemptAddress(address: string, port: number | undefined): boolean {
    const bytes = toAddressBytes(address);
    return bytes !== undefined && this.#exemptRanges.some((range) => range.covers(bytes, port));
  }

  #setGiven(given: NetworkEnforcement): void {
    this.#given = given;
    this.#exempt = toExemptNames(given.exempt.names);
    this.#exemptRanges = given.exempt.networks.map(toExemptRange);
  }

  #toFacts(given: NetworkEnforcement): FilterFacts {
    return { ...this.#options.readFacts(), exemptions: given.exempt.networks };
  }
}

/** TCP ports. */
type ExemptPorts = ReadonlySet<number> | 'all';

function toExemptNames(given: NetworkEnforcement['exempt']['names']): ReadonlyMap<string, ExemptPorts> {
  const found = new Map<string, ExemptPorts>();
  for (const { name: text, port } of given) {
    const name = normalizeName(text);
    if (name === undefined) continue;
    const before = found.get(name) ?? new Set();
    found.set(name, port === undefined || before === 'all' ? 'all' : new Set([...before, port]));
  }
  return found;
}

interface ExemptRange {
  /** `port`: any when absent. */
  covers(address: AddressBytes, port: number | undefined): boolean;
}

function toExemptRange({ network, port: only }: NetworkEnforcement['exempt']['networks'][number]): ExemptRange {
  const isInside = compileRanges([network.includes('/') ? network : `${network}/${isIPv6(network) ? 128 : 32}`]);
  return { covers: (address, port) => (only === undefined || only === port) && isInside(address) };
}
