// What the watchers of one organization have been shown: the state of each sprite, and how many there are of each. Pure.
import type { SpriteWatchLine, SpriteWatchOrganization } from '../../../contract/sprite-watch.ts';
import type { SpriteStatus } from '../../../contract/sprites.ts';
import { toDateTime } from '../../../core/clock.ts';
import type { Organization } from '../../organizations/organization-store.ts';
import { toSpriteStatus } from '../sprite-record.ts';
import type { SpriteRow } from '../sprite-store.ts';

export interface SpriteState {
  readonly name: string;
  readonly status: SpriteStatus | 'deleted';
  readonly running_version: string | null;
  readonly last_running_at: number | null;
  readonly last_warming_at: number | null;
}

export class StateBoard {
  /** The organization as its watchers know it: its limits may change. */
  organization: Organization;
  readonly #states = new Map<string, SpriteState>();
  readonly #counts: Record<SpriteStatus, number> = { running: 0, warm: 0, cold: 0 };

  constructor(organization: Organization) {
    this.organization = organization;
  }

  /** The ids of the sprites whose name begins so, by name. */
  list(prefix: string): string[] {
    const matching = [...this.#states].filter(([, { name }]) => name.startsWith(prefix));
    return matching.sort(([, one], [, other]) => (one.name < other.name ? -1 : 1)).map(([id]) => id);
  }

  /** The states of these sprites; one that is gone is left out. */
  statesOf(ids: readonly string[]): SpriteState[] {
    return ids.map((id) => this.#states.get(id)).filter((state) => state !== undefined);
  }

  /** The new state when it differs from the one that was shown. */
  set(row: SpriteRow): SpriteState | undefined {
    const { name, last_running_at, last_warming_at } = row;
    const status = toSpriteStatus(row.machine_state);
    const next: SpriteState = { name, status, running_version: row.agent_version, last_running_at, last_warming_at };
    const shown = this.#states.get(row.id);
    if (shown !== undefined && isSame(shown, next)) return undefined;
    this.#count(shown, -1);
    this.#count(next, 1);
    this.#states.set(row.id, next);
    return next;
  }

  delete(sprite_id: string): SpriteState | undefined {
    const shown = this.#states.get(sprite_id);
    if (shown === undefined) return undefined;
    this.#count(shown, -1);
    this.#states.delete(sprite_id);
    return { ...shown, status: 'deleted' };
  }

  /** The changes of what was shown, when these are all the sprites that there are. */
  replace(rows: readonly SpriteRow[]): SpriteState[] {
    const known = new Set(rows.map(({ id }) => id));
    const gone = [...this.#states.keys()].filter((id) => !known.has(id));
    return [...gone.map((id) => this.delete(id)), ...rows.map((row) => this.set(row))].filter(
      (state) => state !== undefined,
    );
  }

  toLine(state: SpriteState, now_ms: number): SpriteWatchLine {
    return {
      ...state,
      last_running_at: state.last_running_at === null ? null : toDateTime(state.last_running_at),
      last_warming_at: state.last_warming_at === null ? null : toDateTime(state.last_warming_at),
      timestamp: toDateTime(now_ms),
      org: this.#describe(),
    };
  }

  toHeartbeat(now_ms: number): SpriteWatchLine {
    return { type: 'heartbeat', timestamp: toDateTime(now_ms), org: this.#describe() };
  }

  #describe(): SpriteWatchOrganization {
    const { slug, running_limit, warm_limit } = this.organization;
    return {
      name: slug,
      ...this.#counts,
      ...(running_limit === null ? {} : { running_limit }),
      ...(warm_limit === null ? {} : { warm_limit }),
    };
  }

  #count(state: SpriteState | undefined, by: number): void {
    if (state !== undefined && state.status !== 'deleted') this.#counts[state.status] += by;
  }
}

function isSame(one: SpriteState, other: SpriteState): boolean {
  return (
    one.status === other.status &&
    one.running_version === other.running_version &&
    one.last_running_at === other.last_running_at &&
    one.last_warming_at === other.last_warming_at
  );
}
