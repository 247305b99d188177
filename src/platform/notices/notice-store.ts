// Port notices as they came, each once, and the ports that are open by the last word. A notice that was seen before changes
// nothing, so that an agent may send the tail of its outbox again.
import type { PortNotice, SpritePort } from '../../contract/port-notices.ts';
import type { Sqlite } from '../../sqlite/open.ts';

export interface NoticeStore {
  /** In the order given, in one transaction. Returns how many of them are stored now, old or new. */
  append(sprite_id: string, notices: readonly PortNotice[]): number;
  /** By port. */
  listOpen(sprite_id: string): readonly SpritePort[];
}

/** Kept for each sprite. An agent repeats at most what was not acknowledged, which is far less. */
export const NOTICES_KEPT = 10_000;

export function createNoticeStore(db: Sqlite, kept = NOTICES_KEPT): NoticeStore {
  const insert = db.prepare<[string, string, string, number, string, number, string]>(
    `INSERT INTO port_notices (sprite_id, id, type, port, address, pid, time) VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (sprite_id, id) DO NOTHING`,
  );
  const trim = db.prepare<[string, string, number]>(
    `DELETE FROM port_notices WHERE sprite_id = ? AND sequence <= (
       SELECT sequence FROM port_notices WHERE sprite_id = ? ORDER BY sequence DESC LIMIT 1 OFFSET ?)`,
  );
  const open = db.prepare<[string, number, string, number, string]>(
    `INSERT INTO sprite_ports (sprite_id, port, address, pid, time) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (sprite_id, port) DO UPDATE SET address = excluded.address, pid = excluded.pid, time = excluded.time`,
  );
  const close = db.prepare<[string, number]>('DELETE FROM sprite_ports WHERE sprite_id = ? AND port = ?');
  const list = db.prepare<[string], SpritePort>(
    'SELECT port, address, pid, time FROM sprite_ports WHERE sprite_id = ? ORDER BY port',
  );

  function take(sprite_id: string, notice: PortNotice): void {
    const { id, port, address, pid, time } = notice;
    if (insert.run(sprite_id, id, notice.type, port, address, pid, time).changes === 0) return;
    switch (notice.type) {
      case 'port_opened':
        open.run(sprite_id, port, address, pid, time);
        return;
      case 'port_closed':
        close.run(sprite_id, port);
        return;
      default:
        notice.type satisfies never;
    }
  }

  const append = db.transaction((sprite_id: string, notices: readonly PortNotice[]) => {
    for (const notice of notices) take(sprite_id, notice);
    trim.run(sprite_id, sprite_id, kept);
  });
  return {
    append(sprite_id, notices) {
      append.immediate(sprite_id, notices);
      return notices.length;
    },
    listOpen: (sprite_id) => list.all(sprite_id),
  };
}
