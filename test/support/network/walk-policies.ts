// Random network policies one after the other in the kernel of a machine, beside a model that is written apart: it knows which names were
// allowed when they were asked for, and so which addresses and connections are open.
import type { NetworkPolicyRule } from '../../../src/contract/network-policy.ts';
import { networkPresets } from '../../../src/core/network-policy/presets/network-presets.ts';
import { createDice, type Dice } from '../dice.ts';
import { openNetworkProcess } from '../network-process.ts';
import { MANY_ADDRESSES, NAME_SERVER, type NetworkWorld, openNetworkWorld } from '../network-world.ts';
import { startClient } from './line-client.ts';
import { judgeNaively } from './naive-policy.ts';
import { disguise, LABELS, toRule } from './random-policy.ts';
import type { WalkerTask } from './walker-child.ts';

const HELD_MAX = 6;
const ASKED = 12;
const DIALED = 10;
const PRIVATE = '10.20.0.1';

interface Host {
  readonly name: string;
  /** The names that it leads to, in their order; its own address is that of the last one. */
  readonly aliases: readonly string[];
  readonly address: string;
}

/** Every name of one to three labels. Some are aliases, of which some lead over others; some have a private address besides. */
function makeZone() {
  const lengths = [LABELS.map(String)];
  for (let more = 0; more < 2; more += 1) {
    lengths.push((lengths.at(-1) ?? []).flatMap((name) => LABELS.map((label) => `${label}.${name}`)));
  }
  const hosts: Host[] = [];
  const lines: string[] = [];
  lengths.flat().forEach((name, index) => {
    const target = hosts[(index * 5) % Math.max(hosts.length, 1)];
    if (index % 6 === 5 && target !== undefined) {
      hosts.push({ name, aliases: [target.name, ...target.aliases], address: target.address });
      lines.push(`cname=${name},${target.name},600`);
      return;
    }
    const address = `${MANY_ADDRESSES}${index + 1}`;
    hosts.push({ name, aliases: [], address });
    lines.push(`host-record=${name},${address},600`);
    if (index % 7 === 3) lines.push(`host-record=${name},${PRIVATE},600`);
  });
  return { hosts, lines };
}

/** What has to be open. */
class Model {
  /** The names that were asked while they were allowed, by their addresses. */
  readonly #asked = new Map<string, Set<Host>>();
  #rules: readonly NetworkPolicyRule[] = [];

  isAllowed({ name, aliases }: Host): boolean {
    if (judgeNaively(this.#rules, networkPresets, name).action === 'deny') return false;
    return !aliases.some((alias) => {
      const { action, isSpecific } = judgeNaively(this.#rules, networkPresets, alias);
      return action === 'deny' && isSpecific;
    });
  }

  set rules(rules: readonly NetworkPolicyRule[]) {
    this.#rules = rules;
    if (rules.length === 0) return;
    for (const hosts of this.#asked.values()) for (const host of hosts) if (!this.isAllowed(host)) hosts.delete(host);
  }

  get isUnrestricted(): boolean {
    return this.#rules.length === 0;
  }

  ask(host: Host): void {
    if (this.isUnrestricted || !this.isAllowed(host)) return;
    this.#asked.set(host.address, (this.#asked.get(host.address) ?? new Set()).add(host));
  }

  get open(): readonly string[] {
    return [...this.#asked.keys()].filter((address) => this.isOpen(address));
  }

  isOpen(address: string): boolean {
    return this.isUnrestricted || (this.#asked.get(address)?.size ?? 0) > 0;
  }
}

export interface WalkCounts {
  allowed: number;
  refused: number;
  opened: number;
  reset: number;
  kept: number;
  ended: number;
}

export interface PolicyWalk {
  /** Throws for the first thing that is not as in the model. */
  run(seed: string, steps: number): Promise<WalkCounts>;
}

export async function openPolicyWalk(): Promise<PolicyWalk> {
  const world: NetworkWorld = await openNetworkWorld();
  const { hosts, lines } = makeZone();
  const child = new URL('walker-child.ts', import.meta.url).pathname;
  const [network] = await Promise.all([openNetworkProcess(world), world.setNames(lines)]);
  const say = startClient(world, [process.execPath, '--disable-warning=ExperimentalWarning', child]);

  async function run(seed: string, steps: number): Promise<WalkCounts> {
    const dice: Dice = createDice(seed);
    const model = new Model();
    const counts: WalkCounts = { allowed: 0, refused: 0, opened: 0, reset: 0, kept: 0, ended: 0 };
    const held = new Map<string, string>();
    const pickHost = () => hosts[dice.below(hosts.length)] as Host;
    let rules: readonly NetworkPolicyRule[] = [];
    // What is known of another walk is forgotten.
    await network.enforce([{ action: 'deny', domain: '*' }]);
    await network.enforce(rules);
    for (let step = 0; step < steps; step += 1) {
      const toOne = () => toRule(dice, ['code_hosts']);
      if (dice.chance(8)) rules = [];
      // Mostly a step away from the one before, so that something of it stays.
      else if (dice.chance(25)) rules = Array.from({ length: 1 + dice.below(12) }, toOne);
      else rules = [...rules.filter(() => dice.chance(85)), toOne()];
      await network.enforce(rules);
      model.rules = rules;
      const expected: { readonly task: WalkerTask; readonly outcome: string; readonly count: keyof WalkCounts }[] = [];
      for (const [id, address] of held) {
        const isOpen = model.isOpen(address);
        if (!isOpen) held.delete(id);
        expected.push({
          task: { type: 'check', id },
          outcome: isOpen ? 'open' : 'ended',
          count: isOpen ? 'kept' : 'ended',
        });
      }
      for (let count = 0; count < ASKED; count += 1) {
        const host = pickHost();
        const isAllowed = model.isAllowed(host);
        model.ask(host);
        const hasPrivate = lines.includes(`host-record=${[host.name, ...host.aliases].at(-1)},${PRIVATE},600`);
        const addresses = [host.address, ...(hasPrivate && model.isUnrestricted ? [PRIVATE] : [])].sort().join();
        expected.push({
          task: { type: 'ask', name: disguise(dice, host.name), server: NAME_SERVER },
          outcome: isAllowed ? addresses : 'EREFUSED',
          count: isAllowed ? 'allowed' : 'refused',
        });
      }
      for (let count = 0; count < DIALED; count += 1) {
        const known = model.open;
        const one = known.length > 0 && dice.chance(50) ? known[dice.below(known.length)] : pickHost().address;
        const address = one === undefined || dice.chance(5) ? PRIVATE : one;
        const isOpen = model.isOpen(address);
        const id = `${seed}-${step}-${count}`;
        const stays = isOpen && held.size < HELD_MAX && dice.chance(40);
        if (stays) held.set(id, address);
        expected.push({
          task: { type: 'dial', address, ...(stays && { id }) },
          outcome: isOpen ? 'open' : 'ECONNREFUSED',
          count: isOpen ? 'opened' : 'reset',
        });
      }
      const outcomes: string[] = JSON.parse(await say(JSON.stringify(expected.map(({ task }) => task))));
      expected.forEach(({ task, outcome, count }, index) => {
        if (outcomes[index] !== outcome) {
          const what = `${JSON.stringify(task)} came to ${outcomes[index]}, and not to ${outcome}`;
          throw new Error(`step ${step} of REMORA_FUZZ_SEED=${seed}: ${what}, under ${JSON.stringify(rules)}`);
        }
        counts[count] += 1;
      });
    }
    return counts;
  }
  return { run };
}
