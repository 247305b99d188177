// How many sprites an organization may create in a minute. Counted in the transaction of the creation, so that all platform processes on
// the database count together and a creation that fails does not count.
import { RemoraError } from '../../core/remora-error.ts';
import type { Sql } from '../storage/storage.ts';

/** The limit of an organization that has none of its own, where the platform is given none. */
export const DEFAULT_CREATION_LIMIT = 600;
const WINDOW_MS = 60_000;

/** A window begins with the first creation after the one before it. One that begins in the future, by a clock that was set back, is over. */
const count = `
UPDATE organizations SET
  creations = CASE WHEN creations_since + ${WINDOW_MS} > $2 AND creations_since <= $2 THEN creations + 1 ELSE 1 END,
  creations_since = CASE WHEN creations_since + ${WINDOW_MS} > $2 AND creations_since <= $2 THEN creations_since ELSE $2 END
WHERE id = $1 RETURNING creations, creations_since`;

/** `sql` is that of the transaction. Throws `sprite_creation_rate_limited`. */
export async function countCreation(sql: Sql, organization_id: string, limit: number, now_ms: number): Promise<void> {
  const counted = await sql.one<{ creations: number; creations_since: number }>(count, [organization_id, now_ms]);
  if (counted === undefined || counted.creations <= limit) return;
  const reset_ms = counted.creations_since + WINDOW_MS;
  const retryAfter_ms = Math.max(1_000, reset_ms - now_ms);
  const retry_after_seconds = Math.ceil(retryAfter_ms / 1_000);
  const message = `the organization may create ${limit} sprites in ${WINDOW_MS / 1_000} s; wait ${retry_after_seconds} s`;
  throw new RemoraError('sprite_creation_rate_limited', message, {
    fields: { limit, window_seconds: WINDOW_MS / 1_000, retry_after_seconds },
    retryAfter_ms,
    rate: { limit, reset_ms },
  });
}
