// The platform processes on one database, each known by the machines that are its own and by the vault keys it was started with.
import type { Storage } from '../storage/storage.ts';

export interface PlatformHost {
  readonly host: string;
  readonly machines: number;
}

export interface HostStore {
  list(): Promise<readonly PlatformHost[]>;
  /** Stops its machines in the record and lets any host start them; what they had on its disk is lost. */
  forget(host: string): Promise<void>;
}

export function createHostStore(storage: Pick<Storage, 'all' | 'transaction'>): HostStore {
  return {
    list: () =>
      storage.all<PlatformHost>(
        `SELECT h.host, count(m.id) AS machines
         FROM (SELECT host FROM running_keys UNION SELECT host FROM machines WHERE host IS NOT NULL) h
         LEFT JOIN machines m ON m.host = h.host GROUP BY h.host ORDER BY h.host`,
      ),
    forget: (host) =>
      storage.transaction(async (sql) => {
        const ofHost = 'SELECT sprite_id FROM machines WHERE host = $1';
        await sql.run(`DELETE FROM sprite_ports WHERE sprite_id IN (${ofHost})`, [host]);
        await sql.run("UPDATE machines SET host = NULL, state = 'stopped', wanted = 'stopped' WHERE host = $1", [host]);
        await sql.run('DELETE FROM running_keys WHERE host = $1', [host]);
      }),
  };
}
