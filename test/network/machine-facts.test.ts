import { describe, expect, test } from 'vitest';
import { createFrameReader, toFrame } from '../../src/core/dns/tcp-frames.ts';
import { parseInode } from '../../src/network/asking-process.ts';
import { selectRefused } from '../../src/network/end-connections.ts';
import { parseRefused } from '../../src/network/refused-addresses.ts';
import { parseUplinks } from '../../src/network/uplinks.ts';
import { parseUpstreams, readUpstreams } from '../../src/network/upstreams.ts';

describe('name servers', () => {
  test('are read as the C library reads them, without those of this machine', () => {
    const text =
      '# nameserver 9.9.9.9\nnameserver 127.0.0.53\n nameserver\t10.0.0.2 \nnameserver fe80::1%eth0\nnameserver ::1\n';
    expect(parseUpstreams(text)).toEqual(['10.0.0.2', 'fe80::1']);
    expect(parseUpstreams('nameserver 1.1.1.1\n'.repeat(5))).toHaveLength(3);
    expect(parseUpstreams('nameserver dns.example\noptions edns0\n')).toEqual([]);
  });

  test('of files that are not there are none', () => {
    expect(readUpstreams(['/nonexistent/a', '/nonexistent/b'])).toEqual([]);
  });
});

test('interfaces with a default route lead out', () => {
  const route = `Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU
eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0
docker0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0
`;
  const zero = '0'.repeat(32);
  const to = (length: string, name: string) =>
    `${zero} ${length} ${zero} 00 fd000000000000000000000000000001 00000400 00000003 00000000 00000003     ${name}`;
  expect(parseUplinks(route, `${to('00', 'eth1')}\n${to('00', 'lo')}\n${to('40', 'br0')}\n`)).toEqual(['eth0', 'eth1']);
  expect(parseUplinks('', '')).toEqual([]);
});

test('messages on a connection arrive whole, however they are cut', () => {
  const messages = [Buffer.from('a'), Buffer.alloc(0), Buffer.alloc(65_535, 'b'), Buffer.from('cd')];
  const stream = Buffer.concat(messages.map(toFrame));
  for (const size of [1, 2, 3, 1_000, stream.length]) {
    const read: Buffer[] = [];
    const take = createFrameReader((message) => read.push(Buffer.from(message)));
    for (let at = 0; at < stream.length; at += size) take(stream.subarray(at, at + size));
    expect(Buffer.compare(Buffer.concat(read.map(toFrame)), stream), `${size} bytes each`).toBe(0);
  }
});

test('connections that came in are left, and of the others those that may not be', () => {
  const connection = (local_port: number, peer: string) => ({
    local: '10.0.0.2',
    local_port,
    peer,
    peer_port: 443,
    inode: 1,
  });
  const all = [connection(8080, '1.1.1.1'), connection(40_000, '1.1.1.1'), connection(40_001, '2.2.2.2')];
  const isAllowed = (peer: string) => peer === '2.2.2.2';
  expect(selectRefused(all, { isAllowed, listening: new Set([8080]) })).toEqual([all[1]]);
});

test('the socket of a question is found by its port', () => {
  const table = `   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops
  219: 0200000A:C350 3500000A:0035 01 00000000:00000000 00:00000000 00000000  1000        0 64242 2 0000000000000000 0
`;
  expect([parseInode(table, 50_000), parseInode(table, 50_001), parseInode('', 1)]).toEqual([
    '64242',
    undefined,
    undefined,
  ]);
});

test('refused addresses are listed by the name of their protocol, also where the machine knows none', () => {
  const toElement = (protocol: string | number) => ({
    elem: { val: { concat: ['192.0.2.1', protocol, 80, 1000] }, expires: 590, counter: { packets: 2 } },
  });
  const listed = [{ set: { elem: ['tcp', 6, '17', 'sctp'].map(toElement) } }];
  const refused = parseRefused(listed, 20_000);
  expect(refused.map(({ protocol }) => protocol)).toEqual(['tcp', 'tcp', 'udp', 'sctp']);
  expect(refused[0]).toEqual({
    ...{ kind: 'address', address: '192.0.2.1', protocol: 'tcp', port: 80, uid: 1000, count: 2 },
    last_at: '1970-01-01T00:00:10.000Z',
  });
});
