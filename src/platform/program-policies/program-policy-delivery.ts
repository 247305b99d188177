// Brings the policies of privileges and resources of a sprite to its machine. What the machine has confirmed is stored, and a machine in which
// another one holds gets the stored one again before anything in it is reached.
import { isDeepStrictEqual } from 'node:util';
import { createClient } from '../../client/client.ts';
import { type RefusalWords, toRefusal } from '../../client/to-refusal.ts';
import { ownProgramPolicyOperations, type ProgramPolicy } from '../../contract/local/program-policy.ts';
import type { Clock } from '../../core/clock.ts';
import { createKeyedMutex } from '../../core/keyed-mutex.ts';
import { isEmptyPolicy, noProgramPolicy, toProgramPolicy } from '../../core/program-policy.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { ChannelSession } from '../channels/channel-session.ts';
import type { ProgramPolicyStore } from './program-policy-store.ts';

type Session = Pick<ChannelSession, 'sprite_id' | 'dispatcher' | 'close'>;

export interface ProgramPolicyDelivery {
  /**
   * Resolves when the machine keeps to the change and it is stored; what the change does not name stays as it is. Throws what the agent refuses
   * it with (`not_supported` with what is missing there), `conflict` when another change came in between, and `upstream_failed` and
   * `upstream_timeout`; nothing is stored then.
   */
  set(channel: Session, change: Partial<ProgramPolicy>): Promise<void>;
  /** Stores a change that restricts nothing, for a machine that cannot be reached because it cannot keep to what is stored. Throws `conflict`. */
  lift(sprite_id: string, change: Partial<ProgramPolicy>): Promise<void>;
  /**
   * Resolves when the machine keeps to what is stored. Throws what `set` throws. A machine that is not restricted, and of whose sprite nothing
   * is stored, is not asked.
   */
  check(channel: Session, isRestricted: boolean): Promise<void>;
}

/** Longer than the agent gives its supervisor to start, and to answer. */
const ENFORCE_MS = 70_000;
const words: RefusalWords = {
  passedOn: ['invalid_request', 'not_supported', 'start_failed', 'upstream_timeout'],
  tooOld: {
    message: 'the agent of this machine is too old for such a policy; upgrade it, or restart the sprite',
    missing: 'an agent that restricts programs',
  },
  failed: 'the agent of this machine did not take the policy',
};

export function createProgramPolicyDelivery(
  policies: ProgramPolicyStore,
  clock: Pick<Clock, 'wall_ms'>,
): ProgramPolicyDelivery {
  /** What a new channel is checked against is not changed meanwhile. */
  const turns = createKeyedMutex();

  async function check(channel: Session, isRestricted: boolean): Promise<void> {
    const { policy = noProgramPolicy } = (await policies.find(channel.sprite_id)) ?? {};
    if (isRestricted || !isEmptyPolicy(policy)) await keepTo(channel, policy);
  }

  /** What the machine keeps to now is not known, or is not stored. The next channel is checked again. */
  async function setBack(channel: Session): Promise<void> {
    try {
      await keepTo(channel, (await policies.find(channel.sprite_id))?.policy ?? noProgramPolicy);
    } catch {
      channel.close('the policy of its programs could not be set back');
    }
  }

  async function set(channel: Session, change: Partial<ProgramPolicy>): Promise<void> {
    const { policy: former = noProgramPolicy, revision = 0 } = (await policies.find(channel.sprite_id)) ?? {};
    try {
      const policy = await enforce(channel, { ...former, ...change });
      if (await policies.replace(channel.sprite_id, { policy, revision }, clock.wall_ms())) return;
    } catch (error) {
      await setBack(channel);
      throw error;
    }
    await setBack(channel);
    throw changed();
  }

  async function lift(sprite_id: string, change: Partial<ProgramPolicy>): Promise<void> {
    const { policy: former = noProgramPolicy, revision = 0 } = (await policies.find(sprite_id)) ?? {};
    const policy = toProgramPolicy({ ...former, ...change });
    if (!(await policies.replace(sprite_id, { policy, revision }, clock.wall_ms()))) throw changed();
  }

  return {
    check: (channel, isRestricted) => turns.run(channel.sprite_id, () => check(channel, isRestricted)),
    lift: (sprite_id, change) => turns.run(sprite_id, () => lift(sprite_id, change)),
    set: (channel, change) => turns.run(channel.sprite_id, () => set(channel, change)),
  };
}

function changed(): RemoraError {
  return new RemoraError('conflict', 'this policy was changed by another call meanwhile; read it and try again');
}

async function keepTo(channel: Session, policy: ProgramPolicy): Promise<void> {
  // What cannot be read there, such as a damaged file, is replaced.
  const held = await ask((agent) => agent.call('readProgramPolicy', { timeout_ms: ENFORCE_MS }), channel).catch(
    () => undefined,
  );
  if (!isDeepStrictEqual(held, policy)) await enforce(channel, policy);
}

async function enforce(channel: Session, policy: ProgramPolicy): Promise<ProgramPolicy> {
  return await ask((agent) => agent.call('enforceProgramPolicy', { body: policy, timeout_ms: ENFORCE_MS }), channel);
}

async function ask<T>(call: (agent: ReturnType<typeof toClient>) => Promise<T>, channel: Session): Promise<T> {
  try {
    return await call(toClient(channel));
  } catch (error) {
    throw toRefusal(error, words);
  }
}

function toClient({ dispatcher }: Session) {
  return createClient(ownProgramPolicyOperations, { origin: 'http://agent', dispatcher: () => dispatcher });
}
