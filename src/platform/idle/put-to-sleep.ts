// Puts one machine to sleep: its agent prepares and consents, what is in flight is looked at once more, and the machine is suspended or
// stopped. At most two at once on a host (Suspend and Replication, Limits).
import type { Clock } from '../../core/clock.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Changes } from '../changes.ts';
import type { Channels } from '../channels/channels.ts';
import { toStopOptions } from '../machines/access/stop-options.ts';
import type { MachineService } from '../machines/moves/machine-service.ts';
import type { MachineRow } from '../machines/records/machine-row.ts';
import { listKnownReasons, toText } from './judge-machine.ts';
import { openConsent } from './open-consent.ts';
import { createSlots, type Slots } from './slots.ts';

export interface Sleep {
  readonly move: 'suspend' | 'stop';
  /** The run time without work that the agent must see at least. */
  readonly quiet_ms: number;
  /** Why, for the events of the machine. */
  readonly message: string;
}

export interface Sleeper {
  readonly putToSleep: PutToSleep;
  /** Whether a sleep of the machine is under way, or was a moment ago: what was read of the machine may be old. */
  isFallingAsleep(machine_id: string): boolean;
}

/** Resolves with undefined when the machine sleeps, else with why it does not. Throws what `MachineSleeps.sleep` throws. */
export type PutToSleep = (row: MachineRow, sleep: Sleep) => Promise<string | undefined>;

export interface SleeperDeps {
  readonly channels: Pick<Channels, 'find'>;
  readonly machineService: Pick<MachineService, 'sleeps'>;
  /** Requests, tunnels and calls on their way to a machine. */
  readonly inFlight: (machine_id: string) => number;
  readonly changes: Pick<Changes, 'publish'>;
  readonly clock: Pick<Clock, 'wall_ms'>;
  /** Aborted when the platform ends: no sleep begins any more. */
  readonly signal: AbortSignal;
}

const AT_ONCE = 2;
/** Agents that prepare meanwhile, in all and of one organization: those that take long keep no others from their sleep. */
const PREPARED_AT_ONCE = 8;
const PREPARED_OF_ONE = 2;
/** How long the database may take to answer with a row that it has read. */
const READ_MS = 1_000;

export function createSleeper({ channels, machineService, inFlight, changes, clock, signal }: SleeperDeps): Sleeper {
  const preparing = createSlots(PREPARED_AT_ONCE);
  const ofOrganization = new Map<string, Slots>();
  const sleeping = createSlots(AT_ONCE);
  const falling = new Map<string, NodeJS.Timeout | undefined>();

  function whyNot(row: MachineRow): string | undefined {
    const [reason] = listKnownReasons({ row, inFlight: inFlight(row.id), wall_ms: clock.wall_ms() });
    return reason === undefined ? undefined : toText(reason);
  }

  async function putToSleep(
    { id, config }: MachineRow,
    { move, quiet_ms, message }: Sleep,
  ): Promise<string | undefined> {
    if (signal.aborted) return 'the platform is stopping';
    if (inFlight(id) > 0) return 'traffic has come';
    const channel = channels.find(id);
    if (channel === undefined) return 'its agent is not connected';
    const asked = await openConsent(channel, { move, quiet_ms: Math.round(quiet_ms) }, { signal });
    if ('refused' in asked) return asked.refused;
    using consent = asked.consent;
    const decision = {
      move,
      message,
      whyNot: (row: MachineRow) => consent.withdrawn ?? whyNot(row),
      onEnding: ({ sprite_id }: MachineRow) => changes.publish({ type: 'machine_ending', sprite_id }),
      stop: toStopOptions(undefined, config),
    };
    return await sleeping.run(async () => {
      clearTimeout(falling.get(id));
      falling.set(id, undefined);
      try {
        return await machineService.sleeps.sleep(id, decision);
      } finally {
        falling.set(id, setTimeout(() => falling.delete(id), READ_MS).unref());
      }
    });
  }

  return {
    async putToSleep(row, sleep) {
      const { organization_id: key } = row;
      const own = ofOrganization.get(key) ?? createSlots(PREPARED_OF_ONE);
      ofOrganization.set(key, own);
      try {
        return await own.run(() => preparing.run(() => putToSleep(row, sleep)));
      } finally {
        if (own.size === 0) ofOrganization.delete(key);
      }
    },
    isFallingAsleep: (machine_id) => falling.has(machine_id),
  };
}

/** Whether as many sprites are warm as may be. */
export function isWarmLimit(error: unknown): boolean {
  if (!(error instanceof RemoraError) || error.code !== 'concurrent_sprite_limit_exceeded') return false;
  return typeof error.details === 'object' && error.details !== null && 'warm_limit' in error.details;
}
