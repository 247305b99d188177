// Which hosts are drained: they start no machine, and none of theirs runs or keeps a snapshot.
import type { Sql } from '../storage/storage.ts';

export interface DrainStore {
  drain(host: string, now_ms: number): Promise<void>;
  undrain(host: string): Promise<void>;
  /** Unix milliseconds; undefined when it is not drained. */
  drainedSince(host: string): Promise<number | undefined>;
  /** When each drained host was drained, in Unix milliseconds, by host. */
  list(): Promise<ReadonlyMap<string, number>>;
}

export function createDrainStore(sql: Sql): DrainStore {
  return {
    async drain(host, now_ms) {
      await sql.run('INSERT INTO drained_hosts (host, drained_at) VALUES ($1, $2) ON CONFLICT (host) DO NOTHING', [
        host,
        now_ms,
      ]);
    },
    async undrain(host) {
      await sql.run('DELETE FROM drained_hosts WHERE host = $1', [host]);
    },
    async drainedSince(host) {
      const text = 'SELECT drained_at FROM drained_hosts WHERE host = $1';
      return (await sql.one<{ readonly drained_at: number }>(text, [host]))?.drained_at;
    },
    async list() {
      const rows = await sql.all<{ readonly host: string; readonly drained_at: number }>('SELECT * FROM drained_hosts');
      return new Map(rows.map(({ host, drained_at }) => [host, drained_at]));
    },
  };
}
