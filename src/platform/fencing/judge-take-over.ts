// Whether a machine may replace the one that is served now. Pure.
import { RemoraError } from '../../core/remora-error.ts';
import type { IncarnationReport } from './fencing.ts';
import type { IncarnationRecord } from './incarnation-store.ts';
import type { KnownIncarnation } from './known-incarnation.ts';

/** The least time between two take-overs: two machines with a copied token must not replace each other all the time. */
const SPACING_MS = 3_600_000;

/**
 * `again`: it took over already, with a report whose answer was lost. Throws `too_many_requests` for a new installation that comes within
 * an hour of the last one.
 */
export function judgeTakeOver(
  { known, isAdopting, taken_over_at }: IncarnationRecord & { readonly known: KnownIncarnation },
  { claimed, isNewInstallation, isExternal, now_ms }: IncarnationReport,
): 'refused' | 'again' | 'takes over' {
  if (isAdopting) return 'takes over';
  if (!isNewInstallation || !isExternal) return 'refused';
  if (claimed.incarnation === known.incarnation) return known.nonces.type === 'confirmed' ? 'refused' : 'again';
  const left_ms = taken_over_at === null ? 0 : taken_over_at + SPACING_MS - now_ms;
  if (left_ms <= 0 || left_ms > SPACING_MS) return 'takes over';
  const message =
    'a new installation of this machine took over less than an hour ago; wait, or run `remora machine adopt MACHINE`';
  throw new RemoraError('too_many_requests', message, { retryAfter_ms: left_ms });
}
