// A destination as people write it. Pure.
import { isIPv6 } from 'node:net';
import type { NetworkQuestion } from '../../../contract/network-explanations.ts';

const BRACKETED = /^\[([^\]]+)\](?::(\d+))?$/;
const PLAIN = /^([^:/?#[\]@\s]+)(?::(\d+))?$/;
const PORT_MAX = 65_535;

/** `HOST`, `HOST:PORT`, `ADDRESS`, `[ADDRESS]:PORT`; undefined for everything else, such as a URL. */
export function readHost(text: string): NetworkQuestion | undefined {
  if (isIPv6(text)) return { host: text };
  const [, host, port] = BRACKETED.exec(text) ?? PLAIN.exec(text) ?? [];
  if (host === undefined || (text.startsWith('[') && !isIPv6(host))) return undefined;
  if (port === undefined) return { host };
  const number = Number(port);
  return number >= 1 && number <= PORT_MAX ? { host, port: number } : undefined;
}
