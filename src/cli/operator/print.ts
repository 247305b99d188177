// Prints the result of a command that works on a platform: JSON for programs, a table for people.
import type { Invocation } from '../command.ts';
import { exitCode } from '../exit-code.ts';
import { toAgo } from '../relative-time.ts';
import { toTable } from '../table.ts';

/** Returns the exit code. */
export function print({ out, has }: Invocation, value: unknown, rows: readonly (readonly string[])[]): number {
  if (has('json')) out.line(JSON.stringify(value));
  else for (const line of toTable(rows)) out.line(line);
  return exitCode.ok;
}

/** A time such as `3 h ago`; `-` when there is none. */
export function toWhen(time: string | null | undefined): string {
  return time === null || time === undefined ? '-' : toAgo(Date.parse(time), Date.now());
}
