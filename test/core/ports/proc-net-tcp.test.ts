import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  endsPastListeners,
  type IpFamily,
  parseProcNetTcp,
  SocketTableError,
} from '../../../src/core/ports/proc-net-tcp.ts';
import { randomBytes } from '../../../src/core/urandom.ts';

const header4 =
  '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode                                                     \n';
const header6 =
  '  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n';

function row(local: string, state: string, inode: number, uid = 0, sl = 0): string {
  const remote = `${'0'.repeat(local.indexOf(':'))}:0000`;
  return `${String(sl).padStart(4)}: ${local} ${remote} ${state} 00000000:00000000 00:00000000 00000000 ${String(uid).padStart(5)}        0 ${inode} 1 000000004b9eea25 100 0 0 10 0\n`;
}

describe('parseProcNetTcp', () => {
  const cases: [name: string, family: IpFamily, local: string, address: string, port: number][] = [
    ['loopback', 'ipv4', '0100007F:1F90', '127.0.0.1', 8080],
    ['any address', 'ipv4', '00000000:0050', '0.0.0.0', 80],
    ['another loopback address', 'ipv4', '3500007F:0035', '127.0.0.53', 53],
    ['the highest port', 'ipv4', '0A0200C0:FFFF', '192.0.2.10', 65_535],
    ['any IPv6 address', 'ipv6', '00000000000000000000000000000000:0BB8', '::', 3000],
    ['IPv6 loopback', 'ipv6', '00000000000000000000000001000000:0BB8', '::1', 3000],
    ['a v4-mapped address', 'ipv6', '0000000000000000FFFF00000100007F:0BB8', '127.0.0.1', 3000],
    ['a global IPv6 address', 'ipv6', 'B80D0120000000000000000001000000:01BB', '2001:db8::1', 443],
  ];
  it.each(cases)('reads %s', (_name, family, local, address, port) => {
    const text = (family === 'ipv4' ? header4 : header6) + row(local, '0A', 4711, 1000);
    expect(parseProcNetTcp(text, family)).toEqual([{ family, address, port, inode: 4711, uid: 1000 }]);
  });

  it('reads a table without a socket as no listeners', () => {
    expect(parseProcNetTcp(header4, 'ipv4')).toEqual([]);
  });

  it('leaves out connections, sockets that are being closed, and keeps the order of the rest', () => {
    const text =
      header4 +
      row('0100007F:0001', '0A', 1) +
      row('0100007F:0002', '01', 2) +
      row('0100007F:0003', '0A', 0) +
      row('0100007F:0004', '06', 0, 0, 12_345) +
      row('0100007F:0005', '0A', 4_294_967_295, 4_294_967_294, 12_346);
    expect(parseProcNetTcp(text, 'ipv4').map(({ port, inode, uid }) => ({ port, inode, uid }))).toEqual([
      { port: 1, inode: 1, uid: 0 },
      { port: 5, inode: 4_294_967_295, uid: 4_294_967_294 },
    ]);
  });

  it.each(['/proc/net/tcp', '/proc/net/tcp6'])('reads %s of this kernel', (path) => {
    const family = path.endsWith('6') ? 'ipv6' : 'ipv4';
    for (const listener of parseProcNetTcp(readFileSync(path, 'latin1'), family)) {
      expect(listener.port).toBeGreaterThan(0);
      expect(listener.inode).toBeGreaterThan(0);
    }
  });

  const table = header4 + row('0100007F:1F90', '0A', 4711) + row('0100007F:1F91', '01', 4712);
  it.each([
    ['nothing', ''],
    ['another file', 'Name:\tnode\n'],
    ['no header', row('0100007F:1F90', '0A', 4711)],
    ['a header cut short', header4.slice(0, 40)],
    ['a row that is not one', `${table}garbage\n`],
    ['an IPv6 row in an IPv4 table', header4 + row('00000000000000000000000001000000:0BB8', '0A', 1)],
    ['a listener without its inode', `${header4}   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000\n${table}`],
    ['a blank row', `${table}\n`],
  ])('refuses %s', (_name, text) => {
    expect(() => parseProcNetTcp(text, 'ipv4')).toThrow(SocketTableError);
  });

  it('never takes a table that is cut anywhere inside a row for a whole one', () => {
    for (let length = 0; length < table.length; length += 1) {
      if (table[length - 1] === '\n') continue;
      expect(() => parseProcNetTcp(table.slice(0, length), 'ipv4'), `cut at ${length}`).toThrow(SocketTableError);
    }
  });

  it('answers any damage with listeners in range or with its own error', () => {
    const base = Buffer.from(header4 + [1, 2, 3, 4].map((n) => row(`0100007F:000${n}`, '0A', n)).join(''), 'latin1');
    let refused = 0;
    for (let round = 0; round < 3_000; round += 1) {
      const noise = randomBytes(12);
      const text = Buffer.from(base);
      for (let at = 0; at < 12; at += 3) text[noise.readUInt16BE(at) % text.length] = noise[at + 2] ?? 0;
      try {
        for (const listener of parseProcNetTcp(text.toString('latin1'), 'ipv4')) {
          expect(listener.port).toBeLessThan(65_536);
          expect(Number.isSafeInteger(listener.inode) && listener.inode > 0).toBe(true);
          expect(listener.address).toMatch(/^\d{1,3}(?:\.\d{1,3}){3}$/);
        }
      } catch (error) {
        expect(error).toBeInstanceOf(SocketTableError);
        refused += 1;
      }
    }
    expect(refused).toBeGreaterThan(100);
  });
});

describe('endsPastListeners', () => {
  const listener = row('0100007F:0001', '0A', 1);
  it.each<[name: string, text: string, ends: boolean]>([
    ['a header alone', header4, false],
    ['a listener', header4 + listener, false],
    ['a handshake, which some kernels list among listeners', listener + row('0100007F:0001', '03', 0), false],
    ['a connection', listener + row('0100007F:0001', '01', 2), true],
    ['an IPv6 connection', row(`${'0'.repeat(32)}:0001`, '06', 0), true],
    ['a connection before a listener', row('0100007F:0001', '01', 2) + listener, false],
    ['half a row', listener + row('0100007F:0001', '01', 2).slice(0, -20), false],
    ['nothing', '', false],
  ])('of %s', (_name, text, ends) => {
    expect(endsPastListeners(text)).toBe(ends);
  });
});
