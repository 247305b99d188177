// A directory like that of a mounted node, for clients that read files: `.primary` and `<db>-pos`, each replaced by a rename, so
// that nobody reads half of one. Many changes of one database in a moment are one write.
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { PRIMARY_FILE } from '../../contract/replication.ts';
import { toPosName, toPosText } from '../../core/pos-file.ts';
import type { Primary } from '../../core/primary-status.ts';
import { within } from '../within.ts';
import type { Replica } from './replica.ts';

const TEMPORARY = '.remora-new';
const PACE_MS = 20;
const RETRY_MS = 5_000;
const CLOSE_MS = 2_000;

export interface PositionsDirectoryOptions {
  readonly path: string;
  readonly replica: Replica;
  /** Why it cannot be written; undefined when it can. */
  readonly onTrouble: (reason: string | undefined) => void;
  readonly retry_ms?: number;
}

export interface PositionsDirectory extends AsyncDisposable {
  /** The position of a database, or its being there at all, has changed. */
  touch(db: string): void;
  primaryChanged(): void;
}

export function createPositionsDirectory(options: PositionsDirectoryOptions): PositionsDirectory {
  const { path, replica } = options;
  const written = new Map<string, string | undefined>();
  const stopped = new AbortController();
  let changed = new Set<string>();
  let isPrimaryChanged = false;
  let writing: Promise<void> | undefined;

  /** Undefined text removes the file. */
  async function put(name: string, text: string | undefined): Promise<void> {
    if (written.has(name) && written.get(name) === text) return;
    if (text === undefined) await rm(join(path, name), { force: true });
    else {
      await writeFile(join(path, TEMPORARY), text, { mode: 0o644 });
      await rename(join(path, TEMPORARY), join(path, name));
    }
    written.set(name, text);
  }

  async function putPrimary(primary: Primary): Promise<void> {
    if (primary.type === 'self') await put(PRIMARY_FILE, undefined);
    else if (primary.type === 'remote' && /^[\x21-\x7e]+$/.test(primary.hostname)) {
      await put(PRIMARY_FILE, `${primary.hostname}\n`);
    }
  }

  async function putAll(): Promise<void> {
    await mkdir(path, { recursive: true, mode: 0o755 });
    if (isPrimaryChanged) {
      isPrimaryChanged = false;
      await putPrimary(replica.primary);
    }
    // What changes from here on is for the next round: also a database that is being written.
    const batch = changed;
    changed = new Set();
    for (const db of batch) {
      const name = toPosName(db);
      const transaction = replica.get(db)?.transaction;
      const isThere = transaction !== undefined && transaction.commit > 0;
      if (name !== undefined) await put(name, isThere ? toPosText(transaction) : undefined);
    }
  }

  async function write(): Promise<void> {
    while (changed.size > 0 || isPrimaryChanged) {
      let pause_ms = PACE_MS;
      try {
        await putAll();
        options.onTrouble(undefined);
      } catch (error) {
        // Somebody else may have changed what lies there.
        written.clear();
        isPrimaryChanged = true;
        changed = new Set([...changed, ...replica.entries.keys()]);
        pause_ms = options.retry_ms ?? RETRY_MS;
        options.onTrouble(error instanceof Error ? error.message : String(error));
        if (stopped.signal.aborted) return;
      }
      await sleep(pause_ms, undefined, { signal: stopped.signal, ref: false }).catch(() => undefined);
    }
    writing = undefined;
  }

  function begin(): void {
    if (!stopped.signal.aborted) writing ??= write();
  }

  return {
    touch(db) {
      changed.add(db);
      if (writing === undefined) begin();
    },
    primaryChanged() {
      isPrimaryChanged = true;
      begin();
    },
    async [Symbol.asyncDispose]() {
      stopped.abort();
      if (writing !== undefined) await within(CLOSE_MS, writing).catch(() => undefined);
    },
  };
}
