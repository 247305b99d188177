// Extensions in SQLite. The answers hold secrets and are sealed.
import { z } from 'zod';
import { provisioningResponse } from '../../contract/extensions.ts';
import type { Sqlite } from '../../sqlite/open.ts';
import type { Found, ResourceBook } from './resource-book.ts';
import type { Seal } from './seal.ts';

const row = z.object({
  extension_id: z.string(),
  resource_id: z.string().nullable(),
  organization_id: z.string().nullable(),
  sealed_answer: z.instanceof(Buffer).nullable(),
  gone_ms: z.number().nullable(),
});
const FIELDS = 'SELECT extension_id, resource_id, organization_id, sealed_answer, gone_ms FROM resources';

export function createSqliteResources(db: Sqlite, seal: Seal): ResourceBook {
  const claim = db.prepare(
    `INSERT INTO resources (extension_id, holder, held_until_ms) VALUES (@extension_id, @holder, @until_ms)
     ON CONFLICT (extension_id) DO UPDATE SET holder = @holder, held_until_ms = @until_ms
     WHERE held_until_ms IS NULL OR held_until_ms <= @now_ms OR held_until_ms > 2 * @until_ms - @now_ms
       OR holder = @holder`,
  );
  const release = db.prepare(
    'UPDATE resources SET holder = NULL, held_until_ms = NULL WHERE extension_id = @extension_id AND holder = @holder',
  );
  const dropEmpty = db.prepare(
    `DELETE FROM resources WHERE extension_id = @extension_id AND holder IS NULL AND sealed_answer IS NULL
     AND gone_ms IS NULL`,
  );
  const byExtension = db.prepare(`${FIELDS} WHERE extension_id = ?`);
  const byResource = db.prepare(`${FIELDS} WHERE resource_id = ? ORDER BY gone_ms IS NOT NULL, gone_ms DESC LIMIT 1`);
  const write = db.prepare(
    `INSERT INTO resources (extension_id, resource_id, organization_id, sealed_answer) VALUES (?, ?, ?, ?)
     ON CONFLICT (extension_id) DO UPDATE SET resource_id = excluded.resource_id,
     organization_id = excluded.organization_id, sealed_answer = excluded.sealed_answer`,
  );
  const end = db.prepare(
    `INSERT INTO resources (extension_id, resource_id, gone_ms) VALUES (@id, @id, @now_ms)
     ON CONFLICT (extension_id) DO UPDATE SET gone_ms = @now_ms, sealed_answer = NULL, organization_id = NULL`,
  );
  const forget = db.prepare('DELETE FROM resources WHERE gone_ms < ? AND holder IS NULL');

  function toFound(value: unknown): Found {
    if (value === undefined) return undefined;
    const { extension_id, resource_id, organization_id, sealed_answer, gone_ms } = row.parse(value);
    if (gone_ms !== null) return 'gone';
    // A row with a claim and nothing else.
    if (resource_id === null || organization_id === null || sealed_answer === null) return undefined;
    const answer = provisioningResponse.parse(JSON.parse(seal.open(sealed_answer, extension_id)));
    return { extension_id, resource_id, organization_id, answer };
  }

  return {
    claim: (wanted) => claim.run(wanted).changes === 1,
    release: db.transaction(({ extension_id, holder }) => {
      release.run({ extension_id, holder });
      dropEmpty.run({ extension_id });
    }),
    read: (extension_id) => toFound(byExtension.get(extension_id)),
    find: (id) => toFound(byResource.get(id) ?? byExtension.get(id)),
    write({ extension_id, resource_id, organization_id, answer }) {
      write.run(extension_id, resource_id, organization_id, seal.close(JSON.stringify(answer), extension_id));
    },
    end(extension_id, now_ms) {
      end.run({ id: extension_id, now_ms });
    },
    forget(before_ms) {
      forget.run(before_ms);
    },
  };
}
