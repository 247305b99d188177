// Port notices in the order in which they came, and the ports that are open after the last of them. A notice that is stored already
// changes nothing, so that an agent may send the end of its outbox again.
import type { PortNotice, SpritePort } from '../../contract/port-notices.ts';
import type { Sql, Storage } from '../storage/storage.ts';

export interface NoticeStore {
  /** Stores all notices in the given order, or none. Resolves with how many of them are stored now, old or new. */
  append(sprite_id: string, notices: readonly PortNotice[]): Promise<number>;
  /** Sorted by port. */
  listOpen(sprite_id: string): Promise<readonly SpritePort[]>;
}

/** How many notices are kept for each sprite. An agent sends again only what was not acknowledged, which is far less. */
export const NOTICES_KEPT = 10_000;

const insert = `
INSERT INTO port_notices (sprite_id, id, type, port, address, pid, time) VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (sprite_id, id) DO NOTHING`;

const trim = `
DELETE FROM port_notices WHERE sprite_id = $1 AND sequence <= (
  SELECT sequence FROM port_notices WHERE sprite_id = $1 ORDER BY sequence DESC LIMIT 1 OFFSET $2)`;

const open = `
INSERT INTO sprite_ports (sprite_id, port, address, pid, time) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (sprite_id, port) DO UPDATE SET address = excluded.address, pid = excluded.pid, time = excluded.time`;

export function createNoticeStore(storage: Pick<Storage, 'all' | 'transaction'>, kept = NOTICES_KEPT): NoticeStore {
  return {
    async append(sprite_id, notices) {
      await storage.transaction(async (sql) => {
        for (const notice of notices) await storeNotice(sql, sprite_id, notice);
        await sql.run(trim, [sprite_id, kept]);
      }, `notices of ${sprite_id}`);
      return notices.length;
    },
    listOpen: (sprite_id) =>
      storage.all<SpritePort>('SELECT port, address, pid, time FROM sprite_ports WHERE sprite_id = $1 ORDER BY port', [
        sprite_id,
      ]),
  };
}

async function storeNotice(sql: Sql, sprite_id: string, notice: PortNotice): Promise<void> {
  const { id, port, address, pid, time } = notice;
  if ((await sql.run(insert, [sprite_id, id, notice.type, port, address, pid, time])) === 0) return;
  switch (notice.type) {
    case 'port_opened':
      await sql.run(open, [sprite_id, port, address, pid, time]);
      return;
    case 'port_closed':
      await sql.run('DELETE FROM sprite_ports WHERE sprite_id = $1 AND port = $2', [sprite_id, port]);
      return;
    default:
      notice.type satisfies never;
  }
}
