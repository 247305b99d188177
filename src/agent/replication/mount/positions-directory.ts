// Writes a directory like that of a mounted node, for clients that read files: `.primary` and `<db>-pos`, each replaced by a
// rename, so that nobody reads half a file. Many changes of one database within a moment become one write.
import { open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { PRIMARY_FILE } from '../../../contract/replication.ts';
import { toErrorMessage } from '../../../core/error-message.ts';
import { toPosName, toPosText } from '../../../core/replication/pos-file.ts';
import type { Primary } from '../../../core/replication/primary-status.ts';
import { withDeadline } from '../../../core/with-deadline.ts';
import { makeDirectory } from '../../../linux/make-directory.ts';
import { whyUntrusted } from '../../../linux/trusted-path.ts';
import type { Replica } from '../replica.ts';

const TEMPORARY = '.remora-new';
/** Every user may read the files, whatever the umask of this process is. */
const MODE = 0o644;
const PACE_MS = 20;
const RETRY_MS = 5_000;
const CLOSE_MS = 2_000;

export interface PositionsDirectoryOptions {
  readonly path: string;
  readonly replica: Replica;
  /** Called with the reason why the directory cannot be written; with undefined when it can. */
  readonly onTrouble: (reason: string | undefined) => void;
  readonly retry_ms?: number;
}

export interface PositionsDirectory extends AsyncDisposable {
  /** Call it when the position of a database changed, or a database appeared or vanished. */
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

  /** Writes the file; removes it when `text` is undefined. */
  async function writeEntry(name: string, text: string | undefined): Promise<void> {
    if (written.has(name) && written.get(name) === text) return;
    if (text === undefined) await rm(join(path, name), { force: true });
    else {
      await writeNew(join(path, TEMPORARY), text);
      await rename(join(path, TEMPORARY), join(path, name));
    }
    written.set(name, text);
  }

  async function writePrimary(primary: Primary): Promise<void> {
    if (primary.type === 'self') await writeEntry(PRIMARY_FILE, undefined);
    else if (primary.type === 'remote' && /^[\x21-\x7e]+$/.test(primary.hostname)) {
      await writeEntry(PRIMARY_FILE, `${primary.hostname}\n`);
    }
  }

  async function writeAll(): Promise<void> {
    makeDirectory(path, 0o755);
    const why = whyUntrusted(path);
    if (why !== undefined) throw new Error(`nothing is written to ${path}: ${why}`);
    if (isPrimaryChanged) {
      isPrimaryChanged = false;
      await writePrimary(replica.primary);
    }
    // Later changes are for the next round, also those of a database that is being written.
    const batch = changed;
    changed = new Set();
    for (const db of batch) {
      const name = toPosName(db);
      const transaction = replica.get(db)?.transaction;
      const isThere = transaction !== undefined && transaction.commit > 0;
      if (name !== undefined) await writeEntry(name, isThere ? toPosText(transaction) : undefined);
    }
  }

  async function write(): Promise<void> {
    while (changed.size > 0 || isPrimaryChanged) {
      let pause_ms = PACE_MS;
      try {
        await writeAll();
        options.onTrouble(undefined);
      } catch (error) {
        // Another process may have changed the files, so all are written again.
        written.clear();
        isPrimaryChanged = true;
        changed = new Set([...changed, ...replica.entries.keys()]);
        pause_ms = options.retry_ms ?? RETRY_MS;
        options.onTrouble(toErrorMessage(error));
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
      if (writing !== undefined) await withDeadline(CLOSE_MS, writing).catch(() => undefined);
    },
  };
}

/** Exclusive creation follows no link; a file that has the name already is removed first. */
async function writeNew(path: string, text: string): Promise<void> {
  await rm(path, { force: true });
  await using file = await open(path, 'wx', MODE);
  await file.chmod(MODE);
  await file.writeFile(text);
}
