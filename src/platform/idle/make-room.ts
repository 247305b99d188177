// Suspends one sprite of an organization to make room for another: the one that has been without work for longest, by its agent's word.

import type { Clock } from '../../core/clock.ts';
import { inBatches } from '../../core/in-batches.ts';
import type { MachineRow } from '../machines/records/machine-row.ts';
import type { AskAgent } from './ask-agent.ts';
import type { IdleSettings } from './idle-settings.ts';
import type { IdleStore } from './idle-store.ts';
import { listAgentReasons, listKnownReasons } from './judge-machine.ts';
import type { PutToSleep } from './put-to-sleep.ts';
import { findSleepRule } from './sleep-rule.ts';
import type { Traffic } from './traffic.ts';

/** Whether one was suspended. Throws what the storage throws. */
export type MakeRoom = (organization_id: string, signal: AbortSignal) => Promise<boolean>;

export interface MakeRoomDeps {
  readonly settings: IdleSettings;
  readonly store: Pick<IdleStore, 'listSpritesOf'>;
  readonly traffic: Traffic;
  readonly askAgent: AskAgent;
  readonly putToSleep: PutToSleep;
  readonly clock: Pick<Clock, 'wall_ms'>;
}

/** How many sprites are asked. */
const ASKED = 64;
/** A shorter pause is one between two requests. */
const QUIET_MS = 1_000;

export function createMakeRoom(deps: MakeRoomDeps): MakeRoom {
  const { settings, store, traffic, clock } = deps;

  function mayBeSuspended(row: MachineRow): boolean {
    const found = findSleepRule(row, settings);
    if (!('rule' in found) || found.rule.move !== 'suspend') return false;
    return listKnownReasons({ row, inFlight: traffic.inFlight(row.id), wall_ms: clock.wall_ms() }).length === 0;
  }

  async function toIdle(row: MachineRow): Promise<{ readonly row: MachineRow; readonly idle_ms: number }> {
    const word = await deps.askAgent(row.id);
    const isAtWork = word.type === 'silent' || listAgentReasons(word).length > 0;
    return { row, idle_ms: isAtWork ? 0 : Math.min(word.idle_ms, traffic.quiet_ms(row.id)) };
  }

  return async (organization_id, signal) => {
    const rows = (await store.listSpritesOf(organization_id, ASKED)).filter(mayBeSuspended);
    const idle = (await inBatches(rows, toIdle)).filter(({ idle_ms }) => idle_ms >= QUIET_MS);
    for (const { row, idle_ms } of idle.sort((one, other) => other.idle_ms - one.idle_ms)) {
      if (signal.aborted) return false;
      const message = `room for another sprite of the organization; this one was without work for ${Math.floor(idle_ms / 1_000)} s`;
      if ((await deps.putToSleep(row, { move: 'suspend', quiet_ms: QUIET_MS, message })) === undefined) return true;
    }
    return false;
  };
}
