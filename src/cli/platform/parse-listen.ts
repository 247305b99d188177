// The value of a flag that says where to listen.
import { UsageError } from '../exit-code.ts';

/** `HOST:PORT`, an IPv6 address in brackets. Throws UsageError. */
export function parseListen(flag: string, text: string): { host: string; port: number } {
  const [, bracketed, plain, port = ''] = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]\s]+)):(\d{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  if (host !== undefined && Number(port) <= 65_535) return { host, port: Number(port) };
  throw new UsageError(`platform: --${flag} takes HOST:PORT such as 127.0.0.1:4190, not ${text}`);
}
