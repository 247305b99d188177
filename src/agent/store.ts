// The agent's own database: the life of the machine, event numbers, and the tables of the parts. Where no file can be used it
// lives in memory, the agent serves on, and the part `store` says so.
import { join } from 'node:path';
import { openDatabaseOrMemory, type Sqlite } from '../sqlite/open.ts';
import type { SequenceStore } from './events/event-hub.ts';
import type { Part } from './parts.ts';
import type { LifeStore } from './resume/life.ts';
import { createLifeStore, lifeSchema } from './resume/life-store.ts';

const storeSchema = 'CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID';

export interface Counter {
  load(): number;
  save(value: number): void;
}

export interface Store extends Disposable {
  readonly db: Sqlite;
  readonly life: LifeStore;
  /** Over how long the machines of the platform spread their reconnects, in milliseconds; 0 until it has said. */
  readonly reconnectSpread: Counter;
  readonly sequence: SequenceStore;
  /** Moves the write-ahead log into the file, so that a snapshot holds a small, complete database. */
  checkpoint(): void;
}

/** Opens `agent.db` in `stateDir`; `schemas` are the tables of the parts, one migration each, appended only. */
export function openStore(stateDir: string, schemas: readonly string[], part: Part): Store {
  const opened = openDatabaseOrMemory(join(stateDir, 'agent.db'), {
    migrations: [storeSchema, lifeSchema, ...schemas],
  });
  const { db } = opened;
  part.set(opened.state === 'file' ? 'ok' : 'degraded', opened.reason);
  const select = db.prepare<[string], { value: number }>('SELECT value FROM counters WHERE name = ?');
  const upsert = db.prepare(
    'INSERT INTO counters VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
  );

  function tellUnwritten(error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    part.set('degraded', `agent.db cannot be written (${reason}); numbers may repeat after a restart`);
  }

  /** A write that fails is reported and not thrown: a full disk must not stop a resume or an event. */
  function counter(name: string): Counter {
    return {
      load: () => select.get(name)?.value ?? 0,
      save(value) {
        try {
          upsert.run(name, value);
        } catch (error) {
          tellUnwritten(error);
        }
      },
    };
  }

  const events = counter('event_seq');
  return {
    db,
    life: createLifeStore(db, tellUnwritten),
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
