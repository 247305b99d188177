// Reads positions from the node's mounted directory after a reconnect, for databases that the stream has not named. `init` carries
// no positions, so that without this a quiet database would stay stale, and one without transactions unknown.
import type { Transaction } from '../../../contract/replication.ts';
import { toErrorMessage } from '../../../core/error-message.ts';
import type { Replica } from '../replica.ts';
import type { MountedNode } from './mounted-node.ts';

/** The wait lets transactions arrive that were on their way when the position was read; else they would look like a rewind. */
const SETTLE_MS = 250;

export interface MountCatchUpOptions {
  readonly mount: MountedNode;
  readonly replica: Replica;
  readonly onPosition: (db: string, transaction: Transaction) => void;
  readonly onPrimary: (hostname: string) => void;
  /** Called with the reason why the directory could not be read; with undefined when it could. */
  readonly onTrouble: (reason: string | undefined) => void;
  readonly settle_ms?: number;
}

export interface MountCatchUp extends Disposable {
  connected(): void;
  disconnected(): void;
}

export function createMountCatchUp(options: MountCatchUpOptions): MountCatchUp {
  const { mount, replica } = options;
  const settle_ms = options.settle_ms ?? SETTLE_MS;
  let connection = new AbortController();

  async function catchUp(signal: AbortSignal): Promise<void> {
    try {
      const primary = await mount.primary();
      if (signal.aborted) return;
      if (primary !== undefined && replica.primary.type === 'unknown') options.onPrimary(primary);
      const found: { db: string; transaction: Transaction }[] = [];
      for (const db of await mount.list(replica.entries.keys())) {
        if (signal.aborted) return;
        if (replica.isConfirmed(db)) continue;
        const transaction = await mount.read(db);
        if (transaction !== undefined) found.push({ db, transaction });
      }
      const timer = setTimeout(() => {
        for (const { db, transaction } of found) {
          if (!replica.isConfirmed(db)) options.onPosition(db, transaction);
        }
      }, settle_ms);
      timer.unref();
      if (signal.aborted) clearTimeout(timer);
      signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
      options.onTrouble(undefined);
    } catch (error) {
      if (!signal.aborted) options.onTrouble(toErrorMessage(error));
    }
  }

  return {
    connected() {
      connection = new AbortController();
      void catchUp(connection.signal);
    },
    disconnected: () => connection.abort(),
    [Symbol.dispose]: () => connection.abort(),
  };
}
