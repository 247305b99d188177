// The agent's own database: the incarnation of the machine, event numbers, and the tables of the parts. When no file can be used,
// it is in memory, the agent goes on, and the part `store` says so.
import { join } from 'node:path';
import { toErrorMessage } from '../core/error-message.ts';
import { openDatabaseOrMemory, SMALL_PAGE_CACHE_BYTES, type Sqlite } from '../sqlite/open.ts';
import type { SequenceStore } from './events/event-hub.ts';
import type { Part } from './parts.ts';
import type { IncarnationStore } from './resume/incarnation.ts';
import { createIncarnationStore } from './resume/incarnation-store.ts';
import { storeMigrations } from './store-migrations.ts';

export interface Counter {
  load(): number;
  save(value: number): void;
}

export interface Store extends Disposable {
  readonly db: Sqlite;
  readonly incarnation: IncarnationStore;
  /** Milliseconds over which the machines of the platform spread their reconnects; 0 until the platform has set it. */
  readonly reconnectSpread: Counter;
  readonly sequence: SequenceStore;
  /** Moves the write-ahead log into the file, so that a snapshot holds a small, complete database. */
  checkpoint(): void;
}

/** Opens `agent.db` in `stateDir`; `part` shows whether it is a file. */
export function openStore(stateDir: string, part: Part): Store {
  const options = { migrations: storeMigrations, pageCache_bytes: SMALL_PAGE_CACHE_BYTES };
  const opened = openDatabaseOrMemory(join(stateDir, 'agent.db'), options);
  const { db } = opened;
  part.set(opened.state === 'file' ? 'ok' : 'degraded', opened.reason);
  const select = db.prepare<[string], { value: number }>('SELECT value FROM counters WHERE name = ?');
  const upsert = db.prepare(
    'INSERT INTO counters VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
  );

  function logUnwritten(error: unknown): void {
    const reason = toErrorMessage(error);
    part.set('degraded', `agent.db cannot be written (${reason}); numbers may repeat after a restart`);
  }

  /** A write that fails sets the state of the part and is not thrown: a full disk must not stop a resume or an event. */
  function counter(name: string): Counter {
    return {
      load: () => select.get(name)?.value ?? 0,
      save(value) {
        try {
          upsert.run(name, value);
        } catch (error) {
          logUnwritten(error);
        }
      },
    };
  }

  const events = counter('event_seq');
  return {
    db,
    incarnation: createIncarnationStore(db, logUnwritten),
    reconnectSpread: counter('reconnect_spread_ms'),
    sequence: { load: events.load, reserve: events.save },
    checkpoint() {
      if (opened.state !== 'memory') db.pragma('wal_checkpoint(TRUNCATE)');
    },
    [Symbol.dispose]() {
      db.close();
    },
  };
}
