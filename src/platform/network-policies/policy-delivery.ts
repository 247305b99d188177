// Brings the network policy of a sprite to its machine. What the machine has confirmed is stored, and a machine that enforces another one gets
// the stored one again before anything in it is reached.
import { isDeepStrictEqual } from 'node:util';
import type { NetworkPolicyRule } from '../../contract/network-policy.ts';
import type { Clock } from '../../core/clock.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { ChannelSession } from '../channels/channel-session.ts';
import type { NetworkPolicyStore } from './network-policy-store.ts';
import { askPolicy } from './policy-client.ts';

type Session = Pick<ChannelSession, 'sprite_id' | 'dispatcher' | 'close'>;

export interface PolicyDelivery {
  /**
   * Resolves when the machine enforces the rules and they are stored. Throws what the agent refuses them with (`not_supported` with what is
   * missing there), `conflict` when another change came in between, and `upstream_failed` and `upstream_timeout`; nothing is stored then.
   */
  set(channel: Session, rules: readonly NetworkPolicyRule[]): Promise<void>;
  /**
   * Stores that nothing is restricted, for a machine that cannot be reached because it does not enforce what is stored. Throws `conflict`.
   */
  lift(sprite_id: string): Promise<void>;
  /**
   * Resolves when the machine enforces what is stored. Throws what `set` throws. A machine that is not restricted, and of whose sprite no
   * rules are stored, is not asked.
   */
  check(channel: Session, isRestricted: boolean): Promise<void>;
}

export function createPolicyDelivery(policies: NetworkPolicyStore, clock: Pick<Clock, 'wall_ms'>): PolicyDelivery {
  const turns = new Map<string, Promise<unknown>>();

  /** One after the other for each sprite: what a new channel is checked against is not changed meanwhile. */
  async function inTurn<T>(sprite_id: string, work: () => Promise<T>): Promise<T> {
    const mine = (turns.get(sprite_id) ?? Promise.resolve()).then(work);
    const settled = mine.catch(() => undefined);
    turns.set(sprite_id, settled);
    try {
      return await mine;
    } finally {
      if (turns.get(sprite_id) === settled) turns.delete(sprite_id);
    }
  }

  async function enforce(channel: Session, rules: readonly NetworkPolicyRule[], isStored: boolean) {
    const body = { rules: [...rules], ...(isStored ? { stored: true } : {}) };
    return (await askPolicy(channel, (client) => client.call('enforceNetworkPolicy', { body }))).rules;
  }

  async function check(channel: Session, isRestricted: boolean): Promise<void> {
    const { rules = [] } = (await policies.find(channel.sprite_id)) ?? {};
    if (rules.length === 0) {
      if (isRestricted) await enforce(channel, rules, true);
      return;
    }
    const held = await askPolicy(channel, (client) => client.call('readNetworkPolicy'));
    if (!isDeepStrictEqual(held.rules, rules)) await enforce(channel, rules, true);
  }

  /** What the machine enforces now is not known, or is not stored. The next channel is checked again. */
  async function setBack(channel: Session): Promise<void> {
    await check(channel, true).catch(() => channel.close('its network policy could not be set back'));
  }

  return {
    check: (channel, isRestricted) => inTurn(channel.sprite_id, () => check(channel, isRestricted)),
    lift: (sprite_id) => inTurn(sprite_id, () => lift(sprite_id)),
    set: (channel, rules) => inTurn(channel.sprite_id, () => set(channel, rules)),
  };

  async function set(channel: Session, rules: readonly NetworkPolicyRule[]): Promise<void> {
    const before = await policies.find(channel.sprite_id);
    try {
      const enforced = await enforce(channel, rules, false);
      const policy = { rules: enforced, revision: before?.revision ?? 0 };
      if (await policies.replace(channel.sprite_id, policy, clock.wall_ms())) return;
    } catch (error) {
      await setBack(channel);
      throw error;
    }
    await setBack(channel);
    throw changed();
  }

  async function lift(sprite_id: string): Promise<void> {
    const { revision = 0 } = (await policies.find(sprite_id)) ?? {};
    if (!(await policies.replace(sprite_id, { rules: [], revision }, clock.wall_ms()))) throw changed();
  }
}

function changed(): RemoraError {
  return new RemoraError('conflict', 'the network policy was changed by another call meanwhile; read it and try again');
}
