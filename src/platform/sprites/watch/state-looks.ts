// Reads the states of sprites that are watched again, one look after the other, and sends what has changed.
import type { Clock } from '../../../core/clock.ts';
import type { Log } from '../../../core/log.ts';
import { nextSlice } from '../../../core/next-slice.ts';
import type { SpriteRow, SpriteStore } from '../sprite-store.ts';
import type { Watcher } from './sprite-watch.ts';
import type { SpriteState, StateBoard } from './state-board.ts';

export interface StateLooksDeps {
  readonly sprites: Pick<SpriteStore, 'find' | 'list'>;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
}

/** An organization that is watched. */
export interface Watched {
  readonly board: StateBoard;
  readonly watchers: Set<Watcher>;
  /** The first reading of its sprites. */
  readonly ready: Promise<void>;
}

const PAGE = 500;
/** Looks that nothing asks for take at most this part of the time. */
const LOOK_SHARE = 0.1;

export class StateLooks {
  readonly #deps: StateLooksDeps;
  /** The keys are the ids of organizations. */
  readonly #open: ReadonlyMap<string, Watched>;
  readonly #moved = new Set<string>();
  /** Organizations all of whose sprites are due. */
  readonly #due = new Set<string>();
  #isLooking = false;
  #restsUntil_ms = 0;

  constructor(deps: StateLooksDeps, open: ReadonlyMap<string, Watched>) {
    this.#deps = deps;
    this.#open = open;
  }

  /** Looks at one sprite soon. */
  at(sprite_id: string): void {
    if (this.#open.size === 0) return;
    this.#moved.add(sprite_id);
    this.#lookSoon();
  }

  /** Looks at every sprite of an organization soon. */
  of(organization_id: string): void {
    this.#due.add(organization_id);
    this.#lookSoon();
  }

  /** Looks at every sprite that is watched, unless the last such look was long and not long ago. */
  again(): void {
    if (this.#open.size === 0 || this.#deps.clock.mono_ms() < this.#restsUntil_ms) return;
    for (const id of this.#open.keys()) this.#due.add(id);
    this.#lookSoon();
  }

  async readAll(organization_id: string): Promise<SpriteRow[]> {
    const rows: SpriteRow[] = [];
    for (;;) {
      const after = rows.at(-1)?.name ?? '';
      const page = await this.#deps.sprites.list({ organization_id, prefix: '', after, limit: PAGE });
      rows.push(...page);
      if (page.length < PAGE) return rows;
      await nextSlice();
    }
  }

  #lookSoon(): void {
    if (this.#isLooking) return;
    this.#isLooking = true;
    setImmediate(() => {
      this.#look()
        .catch((err: unknown) => {
          this.#deps.log.warn({ err }, 'the states of sprites could not be read; they are read again soon');
        })
        .finally(() => {
          this.#isLooking = false;
        });
    });
  }

  async #look(): Promise<void> {
    while (this.#open.size > 0 && (this.#moved.size > 0 || this.#due.size > 0)) {
      const ids = [...this.#moved];
      this.#moved.clear();
      for (const id of ids) await this.#lookAt(id);
      if (this.#due.size > 0) await this.#lookAtDue();
    }
    this.#moved.clear();
    this.#due.clear();
  }

  async #lookAt(id: string): Promise<void> {
    const row = await this.#deps.sprites.find(id);
    if (row === undefined) {
      for (const watched of this.#open.values()) this.#send(watched, [watched.board.delete(id)]);
      return;
    }
    const watched = this.#open.get(row.organization_id);
    if (watched !== undefined && !row.machine_only) this.#send(watched, [watched.board.set(row)]);
  }

  async #lookAtDue(): Promise<void> {
    const { clock } = this.#deps;
    const begun_ms = clock.mono_ms();
    const due = [...this.#due];
    this.#due.clear();
    for (const id of due) {
      const watched = this.#open.get(id);
      if (watched !== undefined) this.#send(watched, watched.board.replace(await this.readAll(id)));
    }
    const now_ms = clock.mono_ms();
    this.#restsUntil_ms = now_ms + (now_ms - begun_ms) / LOOK_SHARE;
  }

  #send({ board, watchers }: Watched, states: readonly (SpriteState | undefined)[]): void {
    for (const state of states) {
      if (state === undefined) continue;
      const text = JSON.stringify(board.toLine(state, this.#deps.clock.wall_ms()));
      for (const { prefix, sink } of watchers) if (state.name.startsWith(prefix)) sink.sendText(text);
    }
  }
}
