// Parses the operands of `remora wait`. Pure.
import { UsageError } from './exit-code.ts';

export type WaitTarget =
  | { readonly type: 'port'; readonly port: number }
  | { readonly type: 'transaction'; readonly db: string; readonly txid: string };

/** `port:3000`, `tx:DATABASE@TXID`, or `DATABASE TXID`. Throws UsageError for anything else. */
export function parseWaitTarget(operands: readonly string[]): WaitTarget {
  const [first = '', second] = operands;
  if (second !== undefined) return { type: 'transaction', db: first, txid: second };
  const port = /^port:(\d{1,5})$/.exec(first)?.[1];
  if (port !== undefined) return { type: 'port', port: toPort(port) };
  // The last @ separates the two: the name of a database may hold one, a transaction id cannot.
  const [, db, txid] = /^tx:(.+)@([^@]+)$/.exec(first) ?? [];
  if (db !== undefined && txid !== undefined) return { type: 'transaction', db, txid };
  throw new UsageError(`wait: expected port:PORT, tx:DATABASE@TXID or DATABASE TXID, not ${first}`);
}

function toPort(text: string): number {
  const port = Number(text);
  if (port < 1 || port > 65_535) throw new UsageError(`wait: a port is a number from 1 to 65535, not ${text}`);
  return port;
}
