// The platform processes on one database, each known by the machines that are its own and by the vault keys it was started with.

import type { Storage } from '../storage/storage.ts';
import { createUsageLedger } from '../usage/usage-ledger.ts';

export interface PlatformHost {
  readonly host: string;
  readonly machines: number;
  /** Where other platform processes reach it; null when it was started without an address. */
  readonly address: string | null;
  readonly version: string | null;
  /** Unix milliseconds of its last sign of life. */
  readonly seen_at: number | null;
  /** The boot of the kernel that it runs on. */
  readonly boot_id: string | null;
  /** The memory that its machines may have together; null where nothing bounds it, or it has not said. */
  readonly total_mb: number | null;
  /** The memory that its machines held at its last sign of life. */
  readonly resident_mb: number | null;
}

/** What a platform process says of itself. */
export type HostSign = Omit<PlatformHost, 'machines' | 'seen_at'>;

export interface HostSelf {
  readonly host: string;
  /** What it says of itself now. */
  readonly sign: () => Promise<HostSign>;
}

export interface HostStore {
  list(): Promise<readonly PlatformHost[]>;
  /** Stops its machines in the record and lets any host start them; what they had on its disk is lost, snapshots too. */
  forget(host: string, now_ms: number): Promise<void>;
  /** Records a sign of life. */
  sign(sign: HostSign, now_ms: number): Promise<void>;
  /** The address of a process and the ids of the vault keys that it was started with. */
  find(host: string): Promise<{ readonly address: string | null; readonly key_ids: readonly string[] }>;
}

const MOVED = "state NOT IN ('suspended', 'created', 'failed', 'stopped')";

const forgetMachines = `
UPDATE machines SET host = NULL,
  discarded = CASE WHEN state IN ('suspended', 'suspending') THEN 'migrate' ELSE discarded END,
  wanted = CASE WHEN state IN ('suspended', 'suspending') THEN 'suspended' ELSE 'stopped' END,
  state = CASE WHEN state IN ('suspended', 'suspending') THEN 'suspended'
               WHEN state IN ('created', 'failed') THEN state ELSE 'stopped' END,
  state_since = CASE WHEN ${MOVED} THEN $2 ELSE state_since END
WHERE host = $1`;

export function createHostStore(storage: Pick<Storage, 'all' | 'one' | 'run' | 'transaction'>): HostStore {
  return {
    list: () =>
      storage.all<PlatformHost>(
        `SELECT h.host, count(m.id) AS machines, max(s.address) AS address, max(s.version) AS version,
           max(s.seen_at) AS seen_at, max(s.boot_id) AS boot_id, max(s.total_mb) AS total_mb,
           max(s.resident_mb) AS resident_mb
         FROM (SELECT host FROM running_keys UNION SELECT host FROM machines WHERE host IS NOT NULL) h
         LEFT JOIN machines m ON m.host = h.host LEFT JOIN hosts s ON s.host = h.host GROUP BY h.host ORDER BY h.host`,
      ),
    forget: (host, now_ms) =>
      storage.transaction(async (sql) => {
        const ofHost = 'SELECT sprite_id FROM machines WHERE host = $1';
        await sql.run(`DELETE FROM sprite_ports WHERE sprite_id IN (${ofHost})`, [host]);
        const ledger = createUsageLedger(sql);
        const moved = await sql.all<{ id: string }>(`SELECT id FROM machines WHERE host = $1 AND ${MOVED}`, [host]);
        for (const { id } of moved) {
          const before = await ledger.stateOf(id);
          if (before !== undefined) await ledger.endState(before, now_ms);
        }
        await sql.run(forgetMachines, [host, now_ms]);
        for (const table of ['running_keys', 'channels', 'hosts']) {
          await sql.run(`DELETE FROM ${table} WHERE host = $1`, [host]);
        }
      }),
    async sign({ host, address, version, boot_id, total_mb, resident_mb }, now_ms) {
      await storage.run(
        `INSERT INTO hosts (host, address, version, seen_at, boot_id, total_mb, resident_mb)
         VALUES ($1, $2, $3, $4, $5, $6, $7)
         ON CONFLICT (host) DO UPDATE SET address = excluded.address, version = excluded.version,
           seen_at = excluded.seen_at, boot_id = excluded.boot_id, total_mb = excluded.total_mb,
           resident_mb = excluded.resident_mb`,
        [host, address, version, now_ms, boot_id, total_mb, resident_mb],
      );
    },
    async find(host) {
      const found = await storage.one<{ address: string | null }>('SELECT address FROM hosts WHERE host = $1', [host]);
      const text = 'SELECT key_id FROM running_keys WHERE host = $1';
      const keys = await storage.all<{ readonly key_id: string }>(text, [host]);
      return { address: found?.address ?? null, key_ids: keys.map(({ key_id }) => key_id) };
    },
  };
}
