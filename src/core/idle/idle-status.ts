// The answer of GET /v1/idle, made from the state of the judge.
import type { IdleStatus } from '../../contract/local/tasks.ts';
import { toDateTime } from '../clock.ts';
import type { HoldTime } from '../holds/hold-book.ts';
import { blockersOf, type IdleState, idleFor } from './idle-judge.ts';
import { PRINTED_RECENTLY_MS } from './inside-work.ts';

export interface IdleSettings {
  /** Run time without work after which the machine suspends itself; undefined = never. */
  readonly after_ms: number | undefined;
  /** Ports whose connections are never work. */
  readonly ignorePorts: readonly number[];
}

/** A suspend that was asked for and refused; the next try is not before `retry_run_ms`. */
export interface IdleRefusal {
  readonly at_wall_ms: number;
  readonly message: string;
  readonly retry_run_ms: number;
}

export function toIdleStatus(
  state: IdleState,
  settings: IdleSettings,
  refusal: IdleRefusal | undefined,
  at: HoldTime,
): IdleStatus {
  const { after_ms } = settings;
  const blockers = blockersOf(state);
  const idle = blockers.length === 0;
  const left_ms = after_ms === undefined ? undefined : untilSuspend(state, after_ms, refusal, at);
  const refused =
    refusal === undefined
      ? {}
      : {
          last_refusal: {
            at: toDateTime(refusal.at_wall_ms),
            message: refusal.message,
            next_try_at: toDateTime(at.wall_ms + Math.max(0, refusal.retry_run_ms - at.run_ms)),
          },
        };
  return {
    idle,
    idle_since: idle ? toDateTime(state.since.wall_ms) : null,
    idle_ms: Math.round(idleFor(state, at)),
    blockers,
    ignored: toIgnored(state, settings),
    last_activity_at: state.activity === undefined ? null : toDateTime(state.activity.wall_ms),
    would_suspend_at: left_ms === undefined ? null : toDateTime(at.wall_ms + left_ms),
    idle_suspend: after_ms === undefined ? 'off' : { after_ms },
    ...refused,
  };
}

/** Run time until the machine may be asked to suspend: 0 = now; undefined while there is work. */
export function untilSuspend(
  state: IdleState,
  after_ms: number,
  refusal: IdleRefusal | undefined,
  at: HoldTime,
): number | undefined {
  if (blockersOf(state).length > 0) return undefined;
  return Math.max(0, after_ms - idleFor(state, at), (refusal?.retry_run_ms ?? at.run_ms) - at.run_ms);
}

function toIgnored(state: IdleState, { after_ms, ignorePorts }: IdleSettings): string[] {
  const delays = state.delays.map((name) => `hold ${name}: it only delays a suspend, by at most 5 s`);
  const connections =
    after_ms === undefined
      ? ['inbound connections: looked at only while idle suspend is on']
      : [
          ...state.inbound.ignored,
          ...ignorePorts.map((port) => `port ${port}: named in suspend.idle_ignore_ports`),
          'connections that come and go between two looks, as those of health checks do',
        ];
  return [
    "health checks, polls and all other calls on the agent's own socket, but for those through the gateway and those that run a process",
    'watchers, followers of logs, and control connections without a process',
    `processes that nobody is connected to and that have printed nothing for ${PRINTED_RECENTLY_MS / 1_000} s`,
    "the agent's own connections",
    ...delays,
    ...connections,
  ];
}
