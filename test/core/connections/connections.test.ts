import { describe, expect, it } from 'vitest';
import { parseProcConnections } from '../../../src/core/connections/proc-connections.ts';
import { selectStale } from '../../../src/core/connections/select-stale.ts';
import { parseSsConnections } from '../../../src/core/connections/ss-connections.ts';
import { isFarEnd, toConnectionKey } from '../../../src/core/connections/tcp-connection.ts';

const HEADER =
  '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode                                                     \n';

describe('the table of the kernel', () => {
  it('gives established connections, IPv4 and IPv6, mapped ones in their IPv4 form', () => {
    const rows = [
      '   0: 0100007F:8CA3 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 91056 1 00000000297f2dc9 100 0 0 10 0                     ',
      '   4: 0100007F:A190 0100007F:B12F 06 00000000:00000000 03:00001681 00000000     0        0 0 3 00000000126c215e                                      ',
      '  10: 0100007F:EDCE 0100007F:8CA3 01 00000000:00000000 00:00000000 00000000  1000        0 91057 1 000000001f1f1324 20 4 31 11 -1                    ',
      '  11: 0100007F:EDCF 0100007F:8CA3 01 00000005:00000007 01:00000014 00000000     0        0 0 2 000000001f1f1324 20 4 31 11 -1                    ',
      '  12: 0000000000000000FFFF00000100007F:1F90 0000000000000000FFFF00000200007F:C001 01 00000000:00000000 02:00000A5D 00000000     0        0 77 2 0000000000000000 20 4 0 10 -1',
      '  13: B80D01200000000000000000EFBE0000:0050 B80D0120000000000000000001000000:C002 01 00000000:00000000 00:00000000 00000000     0        0 78 2 0000000000000000 20 4 0 10 -1',
    ];
    expect(parseProcConnections(`${HEADER}${rows.join('\n')}\n`)).toEqual([
      { local: '127.0.0.1', local_port: 60_878, peer: '127.0.0.1', peer_port: 36_003, inode: 91_057 },
      { local: '127.0.0.1', local_port: 8_080, peer: '127.0.0.2', peer_port: 49_153, inode: 77 },
      { local: '2001:db8::beef', local_port: 80, peer: '2001:db8::1', peer_port: 49_154, inode: 78 },
    ]);
  });

  it('gives nothing for a table without connections', () => {
    expect(parseProcConnections(HEADER)).toEqual([]);
  });
});

const oneLine =
  '0      0      127.0.0.1:36003 127.0.0.1:60878 ino:91059 sk:1006 cgroup:/system.slice/app.service <-> ts sack bbr rto:204 bytes_sent:5 bytes_acked:5 bytes_received:3 segs_out:2';
const twoLines = [
  '0      12     [::ffff:10.0.0.7]:443   [::ffff:10.0.0.9]:60894 timer:(keepalive,9.8sec,0) uid:33 ino:91060 sk:1005 <->',
  '\t ts sack cubic wscale:10,10 rto:204 bytes_acked:40 bytes_received:2',
].join('\n');

describe('what ss prints', () => {
  it('is read with details on the same line and on the next', () => {
    expect(parseSsConnections(`${oneLine}\n${twoLines}\n`)).toEqual([
      {
        local: '127.0.0.1',
        local_port: 36_003,
        peer: '127.0.0.1',
        peer_port: 60_878,
        inode: 91_059,
        bytes: 8,
        cgroup: '/system.slice/app.service',
        filter: { src: '127.0.0.1:36003', dst: '127.0.0.1:60878' },
      },
      {
        local: '10.0.0.7',
        local_port: 443,
        peer: '10.0.0.9',
        peer_port: 60_894,
        inode: 91_060,
        bytes: 42,
        cgroup: undefined,
        filter: { src: '[::ffff:10.0.0.7]:443', dst: '[::ffff:10.0.0.9]:60894' },
      },
    ]);
  });

  it.each([
    ['[fe80::1]%eth0:22', 'fe80::1', '[fe80::1]:22'],
    ['[fe80::1%eth0]:22', 'fe80::1', '[fe80::1]:22'],
    ['127.0.0.1%lo:22', '127.0.0.1', '127.0.0.1:22'],
    ['[::1]:22', '::1', '[::1]:22'],
  ])('reads the address %s', (written, local, src) => {
    const [connection] = parseSsConnections(`0 0 ${written} 1.2.3.4:5 ino:1 sk:2 <->`);
    expect(connection).toMatchObject({ local, local_port: 22, filter: { src } });
  });

  it.each([
    ['nothing', ''],
    ['a warning', 'RTNETLINK answers: Invalid argument\n'],
    ['a connection without its inode', '0 0 1.1.1.1:1 2.2.2.2:2\n'],
    ['details of nothing', '\t bytes_received:3\n'],
    ['a table with its header', 'Recv-Q Send-Q Local Address:Port Peer Address:Port\n'],
  ])('gives nothing for %s', (_case, text) => {
    expect(parseSsConnections(text)).toEqual([]);
  });

  it('has the same key as the same connection in the table of the kernel', () => {
    const row =
      '  10: 0100007F:8CA3 0100007F:EDCE 01 00000000:00000000 00:00000000 00000000  1000        0 91059 1 000000001f1f1324 20 4 31 11 -1\n';
    expect(parseProcConnections(HEADER + row).map(toConnectionKey)).toEqual(
      parseSsConnections(oneLine).map(toConnectionKey),
    );
  });
});

describe('two ends in one machine', () => {
  const near = { local: '10.0.0.7', local_port: 80, peer: '10.0.0.7', peer_port: 50_000, inode: 1 };
  const far = { local: '10.0.0.7', local_port: 50_000, peer: '10.0.0.7', peer_port: 80, inode: 2 };
  it('are told from two connections', () => {
    expect(isFarEnd(near, far)).toBe(true);
    expect(isFarEnd(far, near)).toBe(true);
    expect(isFarEnd(near, near)).toBe(false);
    expect(isFarEnd(near, { ...far, local: '10.0.0.8' })).toBe(false);
    expect(isFarEnd(near, { ...far, peer_port: 81 })).toBe(false);
  });
});

describe('stale connections', () => {
  const connection = (inode: number, local_port: number, peer_port: number, cgroup?: string) => ({
    local: '10.0.0.7',
    local_port,
    peer: '10.0.0.9',
    peer_port,
    inode,
    bytes: 0,
    cgroup,
    filter: { src: `10.0.0.7:${local_port}`, dst: `10.0.0.9:${peer_port}` },
  });
  const all = [
    connection(1, 50_001, 5_432, '/app.slice/web.service'),
    connection(2, 5_432, 50_002, '/db.slice'),
    connection(3, 50_003, 443, '/app.slice/web.service/worker'),
    connection(4, 50_004, 443, '/app.slice/web.service2'),
    connection(5, 50_005, 5_432, '/remora'),
  ];
  const older = new Set(all.map(toConnectionKey));
  const ownInodes = new Set([5]);

  it.each([
    ['nothing chosen', { ports: [], cgroups: [] }, []],
    ['a port, at either end', { ports: [5_432], cgroups: [] }, [1, 2]],
    ['a cgroup and those below', { ports: [], cgroups: ['/app.slice/web.service'] }, [1, 3]],
    ['a cgroup written with a slash at the end', { ports: [], cgroups: ['/db.slice/'] }, [2]],
    ['every cgroup', { ports: [], cgroups: ['/'] }, [1, 2, 3, 4]],
    ['both', { ports: [443], cgroups: ['/db.slice'] }, [2, 3, 4]],
  ])('are those of %s', (_case, choice, inodes) => {
    expect(selectStale(all, choice, { older, ownInodes }).map(({ inode }) => inode)).toEqual(inodes);
  });

  it('are none that are newer than the resume, also between the same ends', () => {
    const facts = { older: new Set([toConnectionKey(connection(1, 50_001, 5_432))]), ownInodes };
    const choice = { ports: [5_432], cgroups: [] };
    expect(selectStale([connection(9, 50_001, 5_432)], choice, facts)).toEqual([]);
    expect(selectStale([connection(1, 50_001, 5_432)], choice, facts)).toHaveLength(1);
  });
});
