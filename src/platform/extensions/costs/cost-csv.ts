// Totals of costs as CSV (RFC 4180). Pure.
import type { CostTotal } from '../../../contract/extension-cost-totals.ts';

const columns = ['provider', 'organization', 'currency', 'items', 'amount', 'share', 'payout'] as const;

/** A spreadsheet takes such a text for a formula. */
const FORMULA = /^[=+\-@\t\r]/;

export function toCostCsv(totals: readonly CostTotal[]): string {
  const rows = totals.map((total) => columns.map((column) => toCell(total[column])).join(','));
  return [columns.join(','), ...rows, ''].join('\r\n');
}

/** Numbers stay as they are, also those below zero. */
function toCell(value: string | number): string {
  if (typeof value === 'number') return String(value);
  const text = FORMULA.test(value) ? `'${value}` : value;
  return text === value && !/[",\r\n]/.test(text) ? text : `"${text.replaceAll('"', '""')}"`;
}
