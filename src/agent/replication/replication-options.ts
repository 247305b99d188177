// What the replication part of the agent needs.
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import type { EventHub } from '../events/event-hub.ts';
import type { Part } from '../parts.ts';
import type { Upstream } from '../upstream.ts';
import type { FollowerTiming } from './follow/follower-timing.ts';

export interface ReplicationOptions {
  readonly clock: Clock;
  /** A number in [0, 1), from urandom. */
  readonly random: () => number;
  readonly hub: Pick<EventHub, 'publish'>;
  readonly part: Part;
  readonly log: Log;
  readonly upstream: Pick<Upstream, 'dispatcher'>;
  /** The part is off when there is no `nodeUrl`. */
  readonly config: {
    readonly nodeUrl?: string | undefined;
    readonly stateDir: string;
    readonly litefsDir?: string | undefined;
    readonly positionsDir?: string | undefined;
  };
  /** Called for a change of the primary that lasted; `fields` are those of the event `primary_changed`. */
  readonly onPrimaryChange?: (fields: Readonly<Record<string, unknown>>) => void;
  /** False while a suspend is under way: the follower does not connect then. */
  readonly mayConnect: () => boolean;
  /** This option and those below are for tests. */
  readonly timing?: Partial<FollowerTiming>;
  readonly cacheRetry_ms?: number;
  readonly historyCap?: number;
}
