// Records the open ports of a machine that has ended as closed, with the notices that its agent can no longer send.
import { toDateTime } from '../../core/clock.ts';
import type { Sql } from '../storage/storage.ts';

const insertNotices = `
INSERT INTO port_notices (sprite_id, id, type, port, address, pid, time)
SELECT sprite_id, CAST($2 AS TEXT) || CAST(port AS TEXT), 'port_closed', port, address, pid, CAST($3 AS TEXT) FROM sprite_ports WHERE sprite_id = $1
ON CONFLICT (sprite_id, id) DO NOTHING`;

/** `ended` is the id of what has ended, so that its end adds notices once. `sql` is that of the transaction that records the end. */
export async function endPorts(sql: Sql, sprite_id: string, ended: string, now_ms: number): Promise<void> {
  await sql.run(insertNotices, [sprite_id, `end-${ended}-`, toDateTime(now_ms)]);
  await sql.run('DELETE FROM sprite_ports WHERE sprite_id = $1', [sprite_id]);
}
