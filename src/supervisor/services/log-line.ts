// A line of a log file: `2026-06-02T17:11:17.821Z [stderr] text`. Pure. A plus after the label says that the line goes on in the next one
// of that label. The bytes of the text are kept as they are.
import type { ServiceLogEvent } from '../../contract/services.ts';
import { toDateTime } from '../../core/clock.ts';
import type { LinePiece } from './line-cutter.ts';

/** `error`: what the supervisor itself has to say. */
export type LogLabel = 'stdout' | 'stderr' | 'error';

const LF = 0x0a;
const FORM = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) \[(stdout|stderr|error)\+?\] (.*)$/s;

/** What stands before the text of a line; ASCII. */
export function toLinePrefix(label: LogLabel, wall_ms: number): string {
  return `${toDateTime(wall_ms)} [${label}] `;
}

export function toLogBytes(label: LogLabel, pieces: readonly LinePiece[], wall_ms: number): Buffer {
  const stamp = toDateTime(wall_ms);
  const whole = Buffer.from(toLinePrefix(label, wall_ms));
  const cut = Buffer.from(`${stamp} [${label}+] `);
  const most_bytes = pieces.reduce((sum, { bytes }) => sum + cut.length + bytes.length + 1, 0);
  const lines = Buffer.allocUnsafe(most_bytes);
  let at = 0;
  for (const { bytes, goesOn } of pieces) {
    at += (goesOn ? cut : whole).copy(lines, at);
    at += bytes.copy(lines, at);
    lines[at] = LF;
    at += 1;
  }
  return lines.subarray(0, at);
}

/** Undefined for a line of another form, such as the rest of one that was cut off. */
export function parseLogLine(line: string): ServiceLogEvent | undefined {
  const match = FORM.exec(line);
  const [, stamp, label, data] = match ?? [];
  if (stamp === undefined || label === undefined || data === undefined) return undefined;
  return { type: label as LogLabel, data, timestamp: Date.parse(stamp) };
}
