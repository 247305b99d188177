// The channels of the machines that are connected to this platform process: one for each machine, and only to the incarnation that is
// served.
import type { Duplex } from 'node:stream';
import type { MachineIncarnation } from '../../contract/resume-reports.ts';
import { HELD_BY_ALL_BYTES, HELD_BYTES } from '../../core/channel-limits.ts';
import { inBatches } from '../../core/in-batches.ts';
import type { Log } from '../../core/log.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { ChannelPreparation, type PrepareChannel, type Restricted } from './channel-preparation.ts';
import type { ChannelRecords } from './channel-records.ts';
import { type ChannelSession, openChannelSession } from './channel-session.ts';
import { ChannelWaiters } from './channel-waiters.ts';
import { DialLimit } from './dial-limit.ts';
import { createLaneCounts, type LaneCounts } from './lane-counts.ts';

export interface NewChannel {
  readonly machine_id: string;
  readonly sprite_id: string;
  readonly incarnation: MachineIncarnation;
  /**
   * Reads which incarnation of the machine is served now; undefined when none is known. Throws `unauthorized` once the token that the channel
   * was opened with has been revoked or has expired.
   */
  readonly readKnown: () => Promise<MachineIncarnation | undefined>;
  readonly restricted?: Restricted;
  readonly socket: Duplex;
}

export interface Channels extends AsyncDisposable {
  /** Throws `too_many_requests` while the machine may not open a channel. */
  admit(machine_id: string): void;
  /** Takes a connection that was switched. An older channel of the machine is closed. */
  attach(channel: NewChannel): void;
  /** Undefined while the machine is not connected. */
  find(machine_id: string): ChannelSession | undefined;
  /**
   * Resolves with the channel, at once or when the machine connects. Rejects with `not_reachable` after `limit_ms`; where the policies of the
   * sprite do not hold in the machine, with the reason, at once where they cannot.
   */
  wait(machine_id: string, limit_ms: number): Promise<ChannelSession>;
  /** Why nothing in the machine is reached although its agent connects; undefined when it is reached, or nobody knows. */
  whyRefused(machine_id: string): RemoraError | undefined;
  /** Cuts the channel of a sprite whose machine stands still: nothing may be written to it before the machine dials again. */
  closeOf(sprite_id: string, reason: string): void;
  /** Closes those of one sprite, or of all, whose token has ended, or whose incarnation is not served any more. Never throws. */
  recheck(sprite_id?: string): Promise<void>;
  /** How many channels, streams and lanes are open, and how many lanes were. */
  counts(): { readonly channels: number; readonly streams: number; readonly lanes: LaneCounts };
}

export interface ChannelsOptions {
  /** Tells the other platform processes; undefined where there is one only. */
  readonly records?: Pick<ChannelRecords, 'opened' | 'closed'> | undefined;
  readonly prepare?: PrepareChannel | undefined;
  /** Runs when a machine is not reached for a reason that is not the one before. */
  readonly onRefused?: ((machine_id: string, refusal: RemoraError) => void) | undefined;
  readonly log: Log;
  /** Monotonic milliseconds. */
  readonly now_ms: () => number;
  readonly pingInterval_ms?: number | undefined;
  /** See `HELD_BY_ALL_BYTES`, which it is when absent. */
  readonly heldByAll_bytes?: number;
}

const UNRESTRICTED: Restricted = { network: false, programs: false };

export function createChannels(options: ChannelsOptions): Channels {
  const { records, log, now_ms, pingInterval_ms, heldByAll_bytes = HELD_BY_ALL_BYTES } = options;
  const open = new Map<string, ChannelSession>();
  const readKnownOf = new WeakMap<ChannelSession, NewChannel['readKnown']>();
  const preparation = new ChannelPreparation({
    prepare: options.prepare,
    log,
    onRefused(machine_id, refusal, isNews) {
      const hopeless = preparation.whyHopeless(machine_id);
      if (hopeless !== undefined) waiters.fail(machine_id, hopeless);
      if (isNews) options.onRefused?.(machine_id, refusal);
    },
  });
  const waiters = new ChannelWaiters();

  const dials = new DialLimit(now_ms);
  const laneCounts = createLaneCounts();

  /** One that holds more than its share waits, and the others do not. */
  function isFull(channel: ChannelSession): boolean {
    const own_bytes = channel.held_bytes;
    if (own_bytes > HELD_BYTES) return true;
    if (own_bytes * open.size <= heldByAll_bytes) return false;
    const all_bytes = [...open.values()].reduce((sum, { held_bytes }) => sum + held_bytes, 0);
    return all_bytes > heldByAll_bytes;
  }

  function onClose(channel: ChannelSession, reason: string, isFault: boolean): void {
    const { machine_id, sprite_id } = channel;
    preparation.forget(channel);
    if (open.get(machine_id) === channel) open.delete(machine_id);
    records?.closed(channel);
    if (isFault) {
      dials.onFault(machine_id);
      const audit = { audit: 'channel_cut', machine: machine_id, sprite: sprite_id, reason };
      log.warn(audit, 'the channel of a machine was cut for what came over it');
      return;
    }
    log.debug({ machine: machine_id, reason }, 'the channel of a machine is closed');
  }

  async function check(channel: ChannelSession): Promise<void> {
    try {
      const known = await readKnownOf.get(channel)?.();
      const { generation, incarnation } = channel.incarnation;
      if (known?.generation !== generation || known.incarnation !== incarnation)
        channel.close('another incarnation of the machine is served');
    } catch (err) {
      if (err instanceof RemoraError && err.code === 'unauthorized') {
        channel.close(err.message);
        return;
      }
      log.warn(
        { err, machine: channel.machine_id },
        'a channel could not be checked; it stays open until the next check',
      );
    }
  }

  function begin(channel: ChannelSession): void {
    const { machine_id, incarnation } = channel;
    open.set(machine_id, channel);
    records?.opened(channel);
    log.debug({ machine: machine_id, ...incarnation }, 'the channel of a machine is open');
    waiters.tell(channel);
  }

  const listAll = () => [...open.values(), ...preparation.list()];

  return {
    admit: (machine_id) => dials.take(machine_id),
    attach({ machine_id, sprite_id, incarnation, readKnown, restricted = UNRESTRICTED, socket }) {
      for (const older of listAll())
        if (older.machine_id === machine_id) older.close('the machine has opened another one');
      const channel = openChannelSession({
        machine_id,
        sprite_id,
        incarnation,
        socket,
        pingInterval_ms,
        isFull,
        laneCounts,
        onClose,
      });
      readKnownOf.set(channel, readKnown);
      void preparation.run(channel, restricted, begin);
    },
    find: (machine_id) => open.get(machine_id),
    async wait(machine_id, limit_ms) {
      const found = open.get(machine_id);
      if (found !== undefined) return found;
      const hopeless = preparation.whyHopeless(machine_id);
      if (hopeless !== undefined) throw hopeless;
      return await waiters.wait(machine_id, limit_ms, () => preparation.whyRefused(machine_id) ?? notReachable());
    },
    whyRefused: (machine_id) => preparation.whyRefused(machine_id),
    closeOf(sprite_id, reason) {
      preparation.forgive(sprite_id);
      for (const channel of listAll()) if (channel.sprite_id === sprite_id) channel.close(reason);
    },
    async recheck(sprite_id) {
      const all = listAll();
      await inBatches(sprite_id === undefined ? all : all.filter((channel) => channel.sprite_id === sprite_id), check);
    },
    counts() {
      const all = [...open.values()];
      return {
        channels: all.length,
        streams: all.reduce((sum, channel) => sum + channel.streams, 0),
        lanes: laneCounts,
      };
    },
    async [Symbol.asyncDispose]() {
      for (const channel of listAll()) channel.close('the platform is stopping');
    },
  };
}

function notReachable(): RemoraError {
  return new RemoraError('not_reachable', 'the agent of the machine is not connected; look at the log of the machine', {
    retryAfter_ms: 1_000,
  });
}
