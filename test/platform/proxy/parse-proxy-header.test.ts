// The header of the PROXY protocol: a table of what balancers send and what they must not, each at once and byte by byte.
import { describe, expect, test } from 'vitest';
import { type ProxyHeader, parseProxyHeader, REST_MAX_BYTES } from '../../../src/platform/proxy/parse-proxy-header.ts';
import { createDice } from '../../support/dice.ts';

const SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');

function binary(command: number, family: number, rest: readonly number[], length = rest.length): Buffer {
  return Buffer.concat([SIGNATURE, Buffer.from([command, family, length >> 8, length & 255, ...rest])]);
}

const ipv4 = [203, 0, 113, 7, 10, 0, 0, 1, 0xdd, 0xd5, 0x01, 0xbb];
const ipv6 = [
  ...[0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x2a],
  ...Array.from({ length: 16 }, () => 1),
  ...[0xdd, 0xd5, 0x01, 0xbb],
];
const mapped = [...Array.from({ length: 10 }, () => 0), 255, 255, 203, 0, 113, 7, ...ipv6.slice(16)];
const caller = { address: '203.0.113.7', port: 56_789 };
const field = [0x01, 0, 2, 0x68, 0x32];

const good: readonly [what: string, bytes: Buffer | string, from: Extract<ProxyHeader, { type: 'whole' }>['from']][] = [
  ['version 1', 'PROXY TCP4 203.0.113.7 10.0.0.1 56789 443\r\n', caller],
  ['version 1, IPv6', 'PROXY TCP6 2001:db8::2a ::1 0 65535\r\n', { address: '2001:db8::2a', port: 0 }],
  [
    'version 1, as long as it may be',
    `PROXY TCP6 ${'ffff:'.repeat(7)}ffff ${'ffff:'.repeat(7)}ffff 65535 65535\r\n`,
    { address: `${'ffff:'.repeat(7)}ffff`, port: 65_535 },
  ],
  ['version 1, unknown', 'PROXY UNKNOWN\r\n', 'unknown'],
  ['version 1, unknown with words', 'PROXY UNKNOWN a b c d e f\r\n', 'unknown'],
  ['version 2', binary(0x21, 0x11, ipv4), caller],
  ['version 2 with fields', binary(0x21, 0x11, [...ipv4, ...field]), caller],
  ['version 2, IPv6', binary(0x21, 0x21, ipv6), { address: '2001:db8::2a', port: 56_789 }],
  ['version 2, IPv4 as IPv6', binary(0x21, 0x21, mapped), caller],
  ['version 2, local', binary(0x20, 0x00, []), 'local'],
  ['version 2, local with addresses', binary(0x20, 0x11, ipv4), 'local'],
  ['version 2, unspecified', binary(0x21, 0x00, field), 'unknown'],
  [
    'version 2, Unix',
    binary(
      0x21,
      0x31,
      Array.from({ length: 216 }, () => 1),
    ),
    'unknown',
  ],
  [
    'version 2, as long as it may be',
    binary(0x21, 0x11, [...ipv4, ...Array.from({ length: REST_MAX_BYTES - 12 }, () => 0)]),
    caller,
  ],
];

const refused: readonly [what: string, bytes: Buffer | string][] = [
  ['a request', 'GET / HTTP/1.1\r\n'],
  ['a TLS handshake', Buffer.from([22, 3, 1, 2, 0])],
  ['small letters', 'proxy TCP4 203.0.113.7 10.0.0.1 56789 443\r\n'],
  ['a space before', ' PROXY UNKNOWN\r\n'],
  ['another family', 'PROXY UDP4 203.0.113.7 10.0.0.1 56789 443\r\n'],
  ['no family', 'PROXY \r\n'],
  ['two spaces', 'PROXY TCP4  203.0.113.7 10.0.0.1 56789 443\r\n'],
  ['a word too few', 'PROXY TCP4 203.0.113.7 10.0.0.1 56789\r\n'],
  ['a word too many', 'PROXY TCP4 203.0.113.7 10.0.0.1 56789 443 1\r\n'],
  ['an address of the other family', 'PROXY TCP4 ::1 10.0.0.1 56789 443\r\n'],
  ['an address of the other family', 'PROXY TCP6 203.0.113.7 ::1 56789 443\r\n'],
  ['an address with a zone', 'PROXY TCP6 fe80::1%eth0 ::1 56789 443\r\n'],
  ['an octal address', 'PROXY TCP4 0203.0.113.7 10.0.0.1 56789 443\r\n'],
  ['a port that is too large', 'PROXY TCP4 203.0.113.7 10.0.0.1 65536 443\r\n'],
  ['a port with a zero before', 'PROXY TCP4 203.0.113.7 10.0.0.1 056 443\r\n'],
  ['a port with a sign', 'PROXY TCP4 203.0.113.7 10.0.0.1 +56 443\r\n'],
  ['a line feed alone', `PROXY TCP4 203.0.113.7 10.0.0.1 56789 443\n${'x'.repeat(70)}`],
  ['a line that does not end', `PROXY UNKNOWN ${'x'.repeat(100)}`],
  ['version 3', binary(0x31, 0x11, ipv4)],
  ['another command', binary(0x22, 0x11, ipv4)],
  ['datagrams', binary(0x21, 0x12, ipv4)],
  ['another family', binary(0x21, 0x41, ipv4)],
  ['addresses that are cut', binary(0x21, 0x21, ipv4)],
  ['more than may be', binary(0x21, 0x11, ipv4, REST_MAX_BYTES + 1)],
  ['more than may be, local', binary(0x20, 0x00, [], 65_535)],
];

const toBytes = (given: Buffer | string) => (typeof given === 'string' ? Buffer.from(given, 'latin1') : given);

describe('a header of the PROXY protocol', () => {
  test.each(good)('%s', (_what, given, from) => {
    const bytes = toBytes(given);
    const whole = { type: 'whole', length_bytes: bytes.length, from };
    for (const rest of ['', 'GET / HTTP/1.1\r\n\r\n', '\r\n', given]) {
      expect(parseProxyHeader(Buffer.concat([bytes, toBytes(rest)]))).toEqual(whole);
    }
    for (let length = 0; length < bytes.length; length += 1) {
      expect(parseProxyHeader(bytes.subarray(0, length))).toEqual({ type: 'part' });
    }
  });

  test.each(refused)('%s is refused, and never taken by a part of it', (_what, given) => {
    const bytes = toBytes(given);
    expect(parseProxyHeader(bytes).type).toBe('bad');
    let isBad = false;
    for (let length = 0; length <= bytes.length; length += 1) {
      const { type } = parseProxyHeader(bytes.subarray(0, length));
      expect(type).not.toBe('whole');
      // What is bad stays bad, whatever follows.
      if (isBad) expect(type).toBe('bad');
      isBad = type === 'bad';
    }
  });

  test('noise and headers with a byte changed are never a part for ever, and a header is never longer than what came', () => {
    const dice = createDice('5eed');
    for (let round = 0; round < 20_000; round += 1) {
      const [, given] = good[dice.below(good.length)] ?? ['', 'PROXY '];
      const bytes = Buffer.concat([toBytes(given), Buffer.alloc(16 + REST_MAX_BYTES)]);
      for (let change = dice.below(4); change >= 0; change -= 1)
        bytes[dice.below(Math.min(bytes.length, 120))] = dice.below(256);
      const header = parseProxyHeader(bytes);
      expect(header.type).not.toBe('part');
      if (header.type === 'whole') expect(header.length_bytes).toBeLessThanOrEqual(bytes.length);
    }
  });
});
