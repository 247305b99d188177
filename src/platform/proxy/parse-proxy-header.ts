// Reads the header of the PROXY protocol, versions 1 and 2, with which a balancer that passes bytes on says who has connected to it. Pure.
import { isIPv4, isIPv6 } from 'node:net';

/** Who has connected to the balancer. */
export interface ProxySource {
  readonly address: string;
  readonly port: number;
}

export type ProxyHeader =
  /** More bytes are needed. */
  | { readonly type: 'part' }
  /** `from`: `local` for the balancer itself, such as its health checks; `unknown` where it does not say. */
  | { readonly type: 'whole'; readonly length_bytes: number; readonly from: ProxySource | 'local' | 'unknown' }
  | { readonly type: 'bad'; readonly why: string };

/** Counts the line end too. */
const LINE_MAX_BYTES = 107;
const SIGNATURE = Buffer.from('0d0a0d0a000d0a515549540a', 'hex');
const HEAD_BYTES = 16;
/** What follows the head of version 2: addresses, and fields that nothing here reads. */
export const REST_MAX_BYTES = 4_096;
/** The length of all addresses and ports, and of one address, by the address family and protocol. Only streams come here. */
const lengths: Readonly<Record<number, readonly [all_bytes: number, one_bytes: number]>> = {
  0: [0, 0],
  17: [12, 4],
  33: [36, 16],
  49: [216, 0],
};

const part = { type: 'part' } as const;
const bad = (why: string): ProxyHeader => ({ type: 'bad', why });

/** `bytes`: what a connection begins with. What no header can begin with is bad at once. */
export function parseProxyHeader(bytes: Buffer): ProxyHeader {
  const known = Math.min(bytes.length, SIGNATURE.length);
  if (bytes.subarray(0, known).equals(SIGNATURE.subarray(0, known))) {
    return known < SIGNATURE.length ? part : parseBinary(bytes);
  }
  const begin = 'PROXY '.slice(0, bytes.length);
  return bytes.toString('latin1', 0, begin.length) === begin
    ? parseLine(bytes)
    : bad('it does not begin with a header');
}

function parseLine(bytes: Buffer): ProxyHeader {
  const end = bytes.subarray(0, LINE_MAX_BYTES).indexOf('\r\n');
  if (end < 0) return bytes.length < LINE_MAX_BYTES ? part : bad('the line is too long');
  const length_bytes = end + 2;
  const [, family, ...words] = bytes.toString('latin1', 0, end).split(' ');
  if (family === 'UNKNOWN') return { type: 'whole', length_bytes, from: 'unknown' };
  const isAddress = family === 'TCP4' ? isIPv4 : family === 'TCP6' ? isIPv6 : undefined;
  const [source = '', target = '', port = '', targetPort = ''] = words;
  if (isAddress === undefined || words.length !== 4) return bad('the line has another form');
  // A zone is the balancer's own.
  const areAddresses = [source, target].every((text) => isAddress(text) && !text.includes('%'));
  if (!areAddresses || !isPort(port) || !isPort(targetPort)) return bad('an address or a port is not valid');
  return { type: 'whole', length_bytes, from: { address: source, port: Number(port) } };
}

function isPort(text: string): boolean {
  return /^(?:0|[1-9]\d{0,4})$/.test(text) && Number(text) <= 65_535;
}

function parseBinary(bytes: Buffer): ProxyHeader {
  if (bytes.length < HEAD_BYTES) return part;
  const command = bytes.readUInt8(12);
  const rest_bytes = bytes.readUInt16BE(14);
  if (command !== 0x20 && command !== 0x21) return bad('the version or command is not known');
  if (rest_bytes > REST_MAX_BYTES) return bad(`there are more than ${REST_MAX_BYTES} bytes in it`);
  const length_bytes = HEAD_BYTES + rest_bytes;
  if (bytes.length < length_bytes) return part;
  if (command === 0x20) return { type: 'whole', length_bytes, from: 'local' };
  const [all_bytes, one_bytes] = lengths[bytes.readUInt8(13)] ?? [];
  if (all_bytes === undefined || one_bytes === undefined) return bad('the family or protocol is none of a stream');
  if (rest_bytes < all_bytes) return bad('the addresses are not whole');
  if (one_bytes === 0) return { type: 'whole', length_bytes, from: 'unknown' };
  const address = toAddress(bytes.subarray(HEAD_BYTES, HEAD_BYTES + one_bytes));
  return { type: 'whole', length_bytes, from: { address, port: bytes.readUInt16BE(HEAD_BYTES + 2 * one_bytes) } };
}

function toAddress(bytes: Buffer): string {
  if (bytes.length === 4) return bytes.join('.');
  if (bytes.subarray(0, 12).equals(MAPPED)) return bytes.subarray(12).join('.');
  const groups = Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(2 * index).toString(16));
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1);
}

/** An address of version 4 that is written as one of version 6. */
const MAPPED = Buffer.from('00000000000000000000ffff', 'hex');
