// Compares two looks at the inbound connections: bytes since the look before are work, an open connection alone is not. Where
// bytes cannot be seen, an open connection has to count.
import type { IdleBlocker } from '../../contract/local/tasks.ts';
import { toDateTime } from '../clock.ts';
import { toConnectionKey } from '../connections/tcp-connection.ts';
import type { HoldTime } from '../holds/hold-book.ts';
import type { InboundConnection } from './select-inbound.ts';

/**
 * `kept`: no look was taken, the last result stands. `skipped`: other work goes on, so that a look would change nothing.
 * `failed`: the connections are unknown, and a machine that may be at work stays awake.
 */
export type InboundReading =
  | { readonly type: 'seen'; readonly connections: readonly InboundConnection[]; readonly note?: string }
  | { readonly type: 'kept' }
  | { readonly type: 'skipped' }
  | { readonly type: 'failed'; readonly why: string };

interface Known {
  readonly bytes: number | undefined;
  readonly first_wall_ms: number;
  readonly quiet_wall_ms: number;
}

export interface InboundState {
  readonly known: ReadonlyMap<string, Known>;
  readonly blockers: readonly IdleBlocker[];
  readonly ignored: readonly string[];
}

export const noInbound: InboundState = { known: new Map(), blockers: [], ignored: [] };

export function judgeInbound(before: InboundState, reading: InboundReading, at: HoldTime): InboundState {
  switch (reading.type) {
    case 'kept':
      return before;
    case 'skipped':
      return {
        known: before.known,
        blockers: [],
        ignored: ['inbound connections: not looked at while other work goes on'],
      };
    case 'failed': {
      const since = before.blockers.find(({ owner }) => owner === 'all ports')?.since ?? toDateTime(at.wall_ms);
      const reason = `inbound connections cannot be seen: ${reading.why}`;
      return {
        known: before.known,
        blockers: [{ kind: 'connection', owner: 'all ports', since, reason }],
        ignored: [],
      };
    }
    case 'seen':
      return compare(before, reading.connections, reading.note === undefined ? [] : [reading.note], at);
    default:
      return reading satisfies never;
  }
}

interface PortTally {
  busy: number;
  moved_bytes: number | undefined;
  since_wall_ms: number;
  quiet: number;
  quiet_wall_ms: number;
}

function compare(
  before: InboundState,
  connections: readonly InboundConnection[],
  notes: readonly string[],
  at: HoldTime,
): InboundState {
  const known = new Map<string, Known>();
  const ports = new Map<number, PortTally>();
  for (const connection of connections) {
    const key = toConnectionKey(connection);
    const last = before.known.get(key);
    const moved = connection.bytes === undefined ? undefined : connection.bytes - (last?.bytes ?? 0);
    const isBusy = moved !== 0;
    const first_wall_ms = last?.first_wall_ms ?? at.wall_ms;
    const quiet_wall_ms = isBusy ? at.wall_ms : (last?.quiet_wall_ms ?? at.wall_ms);
    known.set(key, { bytes: connection.bytes, first_wall_ms, quiet_wall_ms });
    const tally = ports.get(connection.local_port) ?? newTally(at);
    ports.set(connection.local_port, tally);
    if (isBusy) {
      tally.busy += 1;
      tally.moved_bytes = moved === undefined ? undefined : (tally.moved_bytes ?? 0) + Math.abs(moved);
      tally.since_wall_ms = Math.min(tally.since_wall_ms, first_wall_ms);
    } else {
      tally.quiet += 1;
      tally.quiet_wall_ms = Math.max(tally.quiet_wall_ms, quiet_wall_ms);
    }
  }
  const byPort = [...ports].sort(([a], [b]) => a - b);
  return {
    known,
    blockers: byPort.filter(([, { busy }]) => busy > 0).map(([port, tally]) => toBlocker(port, tally)),
    ignored: [...byPort.filter(([, { quiet }]) => quiet > 0).map(([port, tally]) => toQuiet(port, tally)), ...notes],
  };
}

function newTally(at: HoldTime): PortTally {
  return { busy: 0, moved_bytes: 0, since_wall_ms: at.wall_ms, quiet: 0, quiet_wall_ms: 0 };
}

function toBlocker(port: number, { busy, moved_bytes, since_wall_ms }: PortTally): IdleBlocker {
  const what = moved_bytes === undefined ? 'bytes cannot be seen' : `${moved_bytes} bytes since the look before`;
  return {
    kind: 'connection',
    owner: `port ${port}`,
    since: toDateTime(since_wall_ms),
    reason: `${count(busy)}, ${what}`,
  };
}

function toQuiet(port: number, { quiet, quiet_wall_ms }: PortTally): string {
  return `port ${port}: ${count(quiet)} without bytes since ${toDateTime(quiet_wall_ms)}`;
}

function count(connections: number): string {
  return connections === 1 ? '1 open connection' : `${connections} open connections`;
}
