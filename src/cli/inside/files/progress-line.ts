// How far a copy is, as a line of a terminal. Pure.
import { toSpan } from '../../table.ts';

export interface Progress {
  readonly label: string;
  readonly done_bytes: number;
  /** Undefined where it is not known. */
  readonly total_bytes: number | undefined;
  readonly elapsed_ms: number;
}

const BAR = 20;
const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];

/** `app.tar   45% [=========>          ]  12.3 MB  4.5 MB/s  3 s left`, cut to `columns`. */
export function toProgressLine({ label, done_bytes, total_bytes, elapsed_ms }: Progress, columns: number): string {
  const perSecond = elapsed_ms === 0 ? 0 : (done_bytes * 1_000) / elapsed_ms;
  const parts = [toSize(done_bytes), `${toSize(perSecond)}/s`];
  if (total_bytes !== undefined && total_bytes > 0) {
    const share = Math.min(1, done_bytes / total_bytes);
    const filled = Math.floor(share * BAR);
    const bar = `${'='.repeat(filled)}${filled < BAR ? '>' : ''}`.padEnd(BAR);
    parts.unshift(`${String(Math.floor(share * 100)).padStart(3)}% [${bar}]`);
    const isOver = share === 1;
    const left_ms = perSecond === 0 ? 0 : ((total_bytes - done_bytes) / perSecond) * 1_000;
    parts.push(isOver ? toSpan(elapsed_ms) : `${toSpan(Math.max(1_000, left_ms))} left`);
  }
  const rest = parts.join('  ');
  const room = Math.max(0, columns - rest.length - 3);
  const name = label.length > room ? `…${label.slice(label.length - Math.max(0, room - 1))}` : label;
  return `${name}  ${rest}`.slice(0, Math.max(0, columns - 1));
}

export function toSize(bytes: number): string {
  const unit = bytes < 1_000 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log10(bytes) / 3));
  return `${(bytes / 1_000 ** unit).toFixed(unit === 0 ? 0 : 1)} ${UNITS[unit]}`;
}
