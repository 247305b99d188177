// Whether a host is this machine and no other. Pure.
import { isIPv4 } from 'node:net';

/** True for `localhost`, 127.0.0.0/8 and ::1, with or without brackets. */
export function isLoopback(host: string): boolean {
  return /^localhost$/i.test(host) || host === '::1' || host === '[::1]' || (host.startsWith('127.') && isIPv4(host));
}
