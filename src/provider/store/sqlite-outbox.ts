// Webhooks to deliver, in SQLite: they outlive the process. Only the oldest of a resource has a time when it is due.
import { z } from 'zod';
import { extensionResource } from '../../contract/extension-webhooks.ts';
import type { Sqlite } from '../../sqlite/open.ts';
import { AHEAD_MAX_MS, fullOutbox, NOTICES_MAX, type Outbox } from './outbox.ts';

const notice = z.object({
  action: z.enum(['resource.created', 'resource.updated', 'resource.deleted']),
  resource: extensionResource,
});
const row = z.object({ id: z.number(), notice: z.string(), added_ms: z.number(), tries: z.number() });
const dueRow = z.object({ due_ms: z.number().nullable() });
const idRow = z.object({ resource_id: z.string() });

export function createSqliteOutbox(db: Sqlite, { max = NOTICES_MAX }: { readonly max?: number } = {}): Outbox {
  const isFull = db.prepare('SELECT 1 FROM notices ORDER BY id LIMIT 1 OFFSET ?');
  const insert = db.prepare(
    `INSERT INTO notices (resource_id, notice, added_ms, due_ms) VALUES (@id, @text, @now_ms,
     CASE WHEN EXISTS (SELECT 1 FROM notices WHERE resource_id = @id) THEN NULL ELSE @now_ms END)`,
  );
  const due = db.prepare(
    `SELECT id, notice, added_ms, tries FROM notices WHERE due_ms <= @now_ms OR due_ms > @now_ms + ${AHEAD_MAX_MS}
     ORDER BY due_ms LIMIT @limit`,
  );
  const lend = db.prepare('UPDATE notices SET due_ms = ? WHERE id = ?');
  const putOff = db.prepare('UPDATE notices SET due_ms = ?, tries = tries + 1 WHERE id = ? AND due_ms IS NOT NULL');
  const remove = db.prepare('DELETE FROM notices WHERE id = ? RETURNING resource_id');
  const release = db.prepare(
    'UPDATE notices SET due_ms = 0 WHERE id = (SELECT min(id) FROM notices WHERE resource_id = ?) AND due_ms IS NULL',
  );
  const next = db.prepare('SELECT min(due_ms) AS due_ms FROM notices WHERE due_ms IS NOT NULL');

  const take = db.transaction((now_ms: number, until_ms: number, limit: number) => {
    const rows = due.all({ now_ms, limit }).map((value) => row.parse(value));
    for (const { id } of rows) lend.run(until_ms, id);
    return rows.map((each) => ({ ...each, notice: notice.parse(JSON.parse(each.notice)) }));
  });
  const done = db.transaction((id: number) => {
    const removed = idRow.safeParse(remove.get(id));
    if (removed.success) release.run(removed.data.resource_id);
  });

  return {
    add(given, now_ms) {
      if (isFull.get(max - 1) !== undefined) throw fullOutbox(max);
      insert.run({ id: given.resource.id, text: JSON.stringify(given), now_ms });
    },
    take: (now_ms, until_ms, limit) => take.immediate(now_ms, until_ms, limit),
    done: (id) => done.immediate(id),
    putOff(id, due_ms) {
      putOff.run(due_ms, id);
    },
    nextDue_ms: () => dueRow.parse(next.get()).due_ms ?? undefined,
  };
}
