// When a machine is started by its schedule: a period after its last boot, or after it was made. Pure.
import type { MachineRow } from '../records/machine-row.ts';

const HOUR_MS = 3_600_000;

const periods_ms: Readonly<Record<string, number>> = {
  hourly: HOUR_MS,
  daily: 24 * HOUR_MS,
  weekly: 7 * 24 * HOUR_MS,
  monthly: 30 * 24 * HOUR_MS,
};

/** A schedule that is no known word starts nothing. */
export function isDue(
  row: Pick<MachineRow, 'config' | 'wanted' | 'started_at' | 'created_at'>,
  now_ms: number,
): boolean {
  const period_ms = periods_ms[row.config.schedule ?? ''];
  if (period_ms === undefined || row.wanted === 'destroyed' || row.config.external === true) return false;
  return now_ms - (row.started_at ?? row.created_at) >= period_ms;
}
