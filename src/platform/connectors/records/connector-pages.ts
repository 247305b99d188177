// Reads the connectors of an organization page by page, with a turn of the event loop between two: an organization may have any
// number of them, and a policy may be a megabyte.
import { nextSlice } from '../../../core/next-slice.ts';
import type { Sql } from '../../storage/storage.ts';

const FIRST_ROWS = 16;
const MOST_ROWS = 256;
/** How many characters of policies a page should have at most. Those of the page before say how many rows that is. */
const PAGE_LENGTH = 512 * 1024;

/** What the pages need of a row. */
interface PlacedRow {
  readonly id: string;
  readonly provider: string;
  readonly access_policy: string | null;
}

const page = 'SELECT * FROM connectors WHERE organization_id = $1';
const ofAll = `${page} AND (provider, id) > ($2, $3) ORDER BY provider, id LIMIT $4`;
const ofProvider = `${page} AND provider = $2 AND id > $3 ORDER BY id LIMIT $4`;

/** Sorted by provider and id; only those of `provider` when it is given. What is added or deleted meanwhile may be in it or not. */
export async function readConnectorPages<R extends PlacedRow>(
  sql: Pick<Sql, 'all'>,
  organization_id: string,
  provider: string | undefined,
): Promise<readonly R[]> {
  const text = provider === undefined ? ofAll : ofProvider;
  const rows: R[] = [];
  let after = { provider: provider ?? '', id: '' };
  let limit = FIRST_ROWS;
  for (;;) {
    const read = await sql.all<R>(text, [organization_id, after.provider, after.id, limit]);
    rows.push(...read);
    const last = read.at(-1);
    if (last === undefined || read.length < limit) return rows;
    after = last;
    limit = toRows(read);
    await nextSlice();
  }
}

/** How many rows like these make a page. */
function toRows(read: readonly PlacedRow[]): number {
  const length = read.reduce((sum, { access_policy }) => sum + (access_policy?.length ?? 0), 1);
  return Math.max(1, Math.min(MOST_ROWS, Math.floor((PAGE_LENGTH * read.length) / length)));
}
