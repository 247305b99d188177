// Streams the states of sprites to those who watch them. The sprites of an organization are read while somebody watches it, once for
// all its watchers; nobody costs nothing.
import { setTimeout as sleep } from 'node:timers/promises';
import type { SpriteWatchLine, WatchSpritesRequest } from '../../../contract/sprite-watch.ts';
import type { Clock } from '../../../core/clock.ts';
import { nextSlice } from '../../../core/next-slice.ts';
import { RemoraError } from '../../../core/remora-error.ts';
import type { EventSink } from '../../../http/event-sink.ts';
import type { Changes } from '../../changes.ts';
import { StorageFailure } from '../../storage/storage.ts';
import type { Caller } from '../../tokens/caller-store.ts';
import type { RecheckToken } from '../../tokens/recheck-token.ts';
import { StateBoard } from './state-board.ts';
import { StateLooks, type StateLooksDeps, type Watched } from './state-looks.ts';

export interface SpriteWatchDeps extends StateLooksDeps {
  readonly recheck: RecheckToken;
  readonly changes: Pick<Changes, 'subscribe'>;
  readonly clock: Clock;
  readonly heartbeat_ms?: number;
}

export interface Watcher {
  readonly caller: Caller;
  readonly prefix: string;
  readonly sink: EventSink<SpriteWatchLine>;
}

export interface SpriteWatch {
  /** Sends the states of the caller's sprites, and then each change until the sink is closed. Throws what storage throws. */
  follow(caller: Caller, query: WatchSpritesRequest, sink: EventSink<SpriteWatchLine>): Promise<void>;
}

const HEARTBEAT_MS = 15_000;
const PAGE = 500;
/** Unsent bytes at which the first list waits for its reader. */
const ROOM_BYTES = 256 * 1024;
const ROOM_POLL_MS = 50;

export function createSpriteWatch(deps: SpriteWatchDeps): SpriteWatch {
  const { changes, clock } = deps;
  const open = new Map<string, Watched>();
  const looks = new StateLooks(deps, open);
  let heartbeat: NodeJS.Timeout | undefined;

  /** The limits of the organization may have changed as well. While the database cannot be asked, watchers stay. */
  async function checkToken(watched: Watched, { caller, sink }: Watcher): Promise<void> {
    try {
      watched.board.organization = (await deps.recheck(caller)).organization;
    } catch (error) {
      if (error instanceof StorageFailure) return;
      const known =
        error instanceof RemoraError ? error : new RemoraError('internal', 'the token could not be checked');
      sink.fail(known.code, known.message);
    }
  }

  async function revalidate(): Promise<void> {
    looks.again();
    for (const watched of [...open.values()]) {
      for (const watcher of [...watched.watchers]) await checkToken(watched, watcher);
    }
  }

  changes.subscribe('machine_moved', ({ sprite_id }) => looks.at(sprite_id));
  changes.subscribe('sprite_created', ({ sprite_id }) => looks.at(sprite_id));
  changes.subscribe('sprite_changed', ({ sprite_id }) => looks.at(sprite_id));
  changes.subscribe('revalidation_due', () => void revalidate());

  function find({ organization }: Caller): Watched {
    const known = open.get(organization.id);
    if (known !== undefined) return known;
    const board = new StateBoard(organization);
    const ready = looks.readAll(organization.id).then((rows) => void board.replace(rows));
    // What changed while it was read is found by one more look.
    ready.then(
      () => looks.of(organization.id),
      () => undefined,
    );
    const watched: Watched = { board, watchers: new Set(), ready };
    open.set(organization.id, watched);
    heartbeat ??= setInterval(beat, deps.heartbeat_ms ?? HEARTBEAT_MS).unref();
    return watched;
  }

  function leave(watched: Watched, watcher: Watcher): void {
    watched.watchers.delete(watcher);
    const { id } = watched.board.organization;
    if (watched.watchers.size === 0 && open.get(id) === watched) open.delete(id);
    if (open.size > 0) return;
    clearInterval(heartbeat);
    heartbeat = undefined;
  }

  function beat(): void {
    for (const { board, watchers } of open.values()) {
      const text = JSON.stringify(board.toHeartbeat(clock.wall_ms()));
      for (const { sink } of watchers) sink.sendText(text);
    }
  }

  /** Sends in pieces, at the pace of the reader: an organization may have more sprites than may wait for one. */
  async function sendFirst({ board }: Watched, { prefix, sink }: Watcher, most: number | undefined): Promise<void> {
    const ids = board.list(prefix).slice(0, most);
    for (let from = 0; from < ids.length && !sink.closed; from += PAGE) {
      const states = board.statesOf(ids.slice(from, from + PAGE));
      sink.sendTexts(states.map((state) => JSON.stringify(board.toLine(state, clock.wall_ms()))));
      while (sink.waiting_bytes > ROOM_BYTES && !sink.closed) await sleep(ROOM_POLL_MS);
      await nextSlice();
    }
  }

  return {
    async follow(caller, { prefix = '', max_results }, sink) {
      const watched = find(caller);
      const watcher: Watcher = { caller, prefix, sink };
      watched.watchers.add(watcher);
      sink.onClose(() => leave(watched, watcher));
      try {
        await watched.ready;
      } catch (error) {
        leave(watched, watcher);
        throw error;
      }
      sink.open();
      await sendFirst(watched, watcher, max_results);
    },
  };
}
