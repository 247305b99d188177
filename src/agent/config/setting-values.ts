// Schemas of the values of settings: each turns text, as it is in a file, a variable or a flag, into a checked value.
import { isIP } from 'node:net';
import { parseDuration } from '../../contract/duration.ts';
import * as z from '../../contract/lazy-zod.ts';
import { normalizeName } from '../../core/network-policy/domain-name.ts';
import { parseIgnoredPorts } from '../../core/ports/port-class.ts';
import { withoutLastSlashes } from '../../core/without-last-slashes.ts';

export const absolutePath = z.string().startsWith('/', 'must be an absolute path');

const httpUrl = z.string().superRefine((text, context) => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) context.addIssue('must be an http or https URL');
  else if (url.username !== '' || url.password !== '')
    context.addIssue('must not contain a credential; use the token setting');
  else if (url.search !== '' || url.hash !== '') context.addIssue('must not contain a query or a fragment');
});
export const baseUrl = httpUrl.transform((text) => withoutLastSlashes(text));

export const duration = z.string().transform((text, context) => {
  const value = parseDuration(text);
  if (value !== undefined) return value;
  context.addIssue('must be a duration such as 30s, 10m or 500ms');
  return z.NEVER;
});

export const byteCount = z
  .string()
  .regex(/^\d{1,12}$/, 'must be a number of bytes')
  .transform(Number);

export const count = z
  .string()
  .regex(/^[1-9]\d{0,8}$/, 'must be a whole number of at least 1')
  .transform(Number);

export const digest = z.string().regex(/^[0-9a-f]{64}$/, 'must be the 64 hexadecimal digits that the platform gives');

/** Words separated by commas; a list in the TOML file means the same. */
const words = z.string().transform((text) =>
  text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== ''),
);

export const portList = words.transform((list, context) => {
  const ports = list.map((word) => (/^\d{1,5}$/.test(word) ? Number(word) : 0));
  if (ports.every((port) => port > 0 && port <= 65_535)) return ports;
  context.addIssue('must be ports with commas between them, for example 5432,6379');
  return z.NEVER;
});

export const ignoredPorts = words.transform((list, context) => {
  const ignored = parseIgnoredPorts(list);
  if (ignored !== undefined) return ignored;
  context.addIssue(
    'must be ports, ranges and the word system with commas between them, for example 22,9000-9010,system',
  );
  return z.NEVER;
});

export const hostList = words.refine(
  (list) => list.every((host) => /^[A-Za-z0-9.:-]+$/.test(host)),
  'must be names or addresses of hosts with commas between them, for example 10.77.0.1',
);

const PREFIX_BITS = { 4: 32, 6: 128 } as const;

/** Names apart from addresses and networks. */
export const exemptList = words.transform((list, context) => {
  const names = list.filter(
    (word) => /[A-Za-z]/.test(word) && !word.includes(':') && normalizeName(word) !== undefined,
  );
  const networks = list.filter((word) => isNetwork(word));
  if (names.length + networks.length === list.length && Math.max(names.length, networks.length) <= 48) {
    return { names, networks };
  }
  context.addIssue(
    'must be at most 48 names and as many addresses or networks with commas between them, for example db.internal,10.0.0.0/8',
  );
  return z.NEVER;
});

function isNetwork(word: string): boolean {
  const [, address = '', prefix = '0'] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(word) ?? [];
  const family = isIP(address);
  return (family === 4 || family === 6) && Number(prefix) <= PREFIX_BITS[family];
}

export const cgroupList = words.refine(
  (list) => list.every((path) => path.startsWith('/')),
  'must be paths of cgroups with commas between them, for example /system.slice/app.service',
);

export const hostPort = z.string().transform((text, context) => {
  const match = /^(\[[0-9a-fA-F:]+\]|[^:]+):(\d{1,5})$/.exec(text);
  const port = Number(match?.[2]);
  if (match?.[1] !== undefined && port <= 65_535) return { host: match[1].replace(/^\[|\]$/g, ''), port };
  context.addIssue('must be host:port with a loopback host, for example 127.0.0.1:4181');
  return z.NEVER;
});

export const fileMode = z
  .string()
  .regex(/^0?[0-7]{3}$/, 'must be an octal file mode such as 0660')
  .transform((text) => Number.parseInt(text, 8));

export const machinesApi = z.union([
  z
    .string()
    .regex(/^unix:\/.+/, 'must be unix:/path or a URL')
    .transform((text) => ({ socketPath: text.slice('unix:'.length) })),
  baseUrl.transform((origin) => ({ origin })),
]);

export const onOff = z
  .enum(['true', 'false', '1', '0'], { error: 'must be true or false' })
  .transform((text) => text === 'true' || text === '1');
