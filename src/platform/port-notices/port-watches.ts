// The readers that watch the open ports of sprites. The database has what is open, from all platform processes: each look compares it with
// what the readers were shown last, so that nothing has to be stored for them and a look that failed is made good by the next one.
import type { PortNotification, SpritePort, SpritePortEvent } from '../../contract/port-notices.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { EventSink } from '../../http/event-sink.ts';
import { StorageFailure } from '../storage/storage.ts';
import type { NoticeStore } from './port-notice-store.ts';

export interface PortReader {
  readonly sink: EventSink<SpritePortEvent>;
  /** Throws when the reader may not go on. */
  readonly recheck: () => Promise<unknown>;
}

export interface PortWatchesOptions {
  readonly notices: Pick<NoticeStore, 'listOpen'>;
  /** How often watched sprites are looked at; undefined where every change is written by this process, which calls `look`. */
  readonly poll_ms: number | undefined;
}

interface Watched {
  readonly sprite_id: string;
  readonly readers: Set<PortReader>;
  /** Readers that wait for their list. */
  joining: number;
  shown: readonly SpritePort[];
  looking: Promise<void> | undefined;
  isWanted: boolean;
}

export class PortWatches {
  readonly #options: PortWatchesOptions;
  readonly #watched = new Map<string, Watched>();
  #timer: NodeJS.Timeout | undefined;
  #rechecking: Promise<void> | undefined;

  constructor(options: PortWatchesOptions) {
    this.#options = options;
  }

  /** Sends what is open now, then each change, until the reader is gone. Throws what the database throws. */
  async follow(sprite_id: string, reader: PortReader): Promise<void> {
    const watched = this.#enter(sprite_id);
    const { sink } = reader;
    try {
      await this.#look(watched);
      if (sink.closed) return;
      sink.send({ type: 'port_list', ports: [...watched.shown] });
      watched.readers.add(reader);
      sink.onClose(() => {
        watched.readers.delete(reader);
        this.#leave(watched);
      });
    } finally {
      watched.joining -= 1;
      this.#leave(watched);
    }
  }

  /** Call it after a change of the ports of a sprite. It costs nothing when nobody watches. */
  look(sprite_id: string): void {
    const watched = this.#watched.get(sprite_id);
    if (watched !== undefined) this.#look(watched).catch(ignore);
  }

  /** Looks at every watched sprite, and ends the readers that may not go on. While the database cannot be asked, readers stay. */
  recheck(): Promise<void> {
    this.#rechecking ??= this.#recheck().finally(() => {
      this.#rechecking = undefined;
    });
    return this.#rechecking;
  }

  /** Does the same for one sprite. */
  async recheckOf(sprite_id: string): Promise<void> {
    this.look(sprite_id);
    const { readers } = this.#watched.get(sprite_id) ?? { readers: [] };
    for (const reader of [...readers]) await end(reader);
  }

  async #recheck(): Promise<void> {
    this.#lookAtAll();
    for (const { readers } of [...this.#watched.values()]) {
      for (const reader of [...readers]) await end(reader);
    }
  }

  #enter(sprite_id: string): Watched {
    const known = this.#watched.get(sprite_id);
    const fresh = () => ({ sprite_id, readers: new Set<PortReader>(), joining: 0, shown: [], ...idle });
    const watched: Watched = known ?? fresh();
    watched.joining += 1;
    this.#watched.set(sprite_id, watched);
    const { poll_ms } = this.#options;
    if (poll_ms !== undefined) this.#timer ??= setInterval(() => this.#lookAtAll(), poll_ms).unref();
    return watched;
  }

  #leave(watched: Watched): void {
    if (watched.joining > 0 || watched.readers.size > 0) return;
    this.#watched.delete(watched.sprite_id);
    if (this.#watched.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #lookAtAll(): void {
    for (const watched of this.#watched.values()) this.#look(watched).catch(ignore);
  }

  /** Resolves after a look that has begun after this call. */
  #look(watched: Watched): Promise<void> {
    watched.isWanted = true;
    watched.looking ??= this.#lookWhileWanted(watched).finally(() => {
      watched.looking = undefined;
    });
    return watched.looking;
  }

  async #lookWhileWanted(watched: Watched): Promise<void> {
    while (watched.isWanted) {
      watched.isWanted = false;
      const ports = await this.#options.notices.listOpen(watched.sprite_id);
      const events = compare(watched.shown, ports).map((event) => JSON.stringify(event));
      watched.shown = ports;
      for (const { sink } of watched.readers) sink.sendTexts(events);
    }
  }
}

const idle = { looking: undefined, isWanted: false };

/** What was closed, then what was opened. A port that another process has taken over is both. */
function compare(before: readonly SpritePort[], now: readonly SpritePort[]): PortNotification[] {
  const open = new Set(now.map(toKey));
  const shown = new Set(before.map(toKey));
  const closed = before.filter((port) => !open.has(toKey(port)));
  const opened = now.filter((port) => !shown.has(toKey(port)));
  return [
    ...closed.map(({ time: _, ...fields }) => ({ type: 'port_closed' as const, ...fields })),
    ...opened.map(({ time: _, ...fields }) => ({ type: 'port_opened' as const, ...fields })),
  ];
}

function toKey({ port, pid, address, time }: SpritePort): string {
  return JSON.stringify([port, pid, address, time]);
}

async function end({ sink, recheck }: PortReader): Promise<void> {
  try {
    await recheck();
  } catch (error) {
    if (error instanceof RemoraError) sink.fail(error.code, error.message);
    else if (!(error instanceof StorageFailure)) sink.end();
  }
}

/** The next look makes it good. */
function ignore(): void {}
