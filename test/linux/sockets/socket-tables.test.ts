// What the kernel's counters of sockets say between two scans: that something came or went, and no more than that.
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createSocketTables } from '../../../src/linux/sockets/socket-tables.ts';
import { makeProc } from '../../support/fake-proc.ts';

const toSockstat = (inuse: number, tw: number, mem = 3) =>
  `sockets: used 180\nTCP: inuse ${inuse} orphan 0 tw ${tw} alloc 90 mem ${mem}\nUDP: inuse 1 mem 0\n`;

function open() {
  const { root } = makeProc();
  const put = (name: string, text: string) => writeFileSync(join(root, 'net', name), text);
  const tables = createSocketTables(root);
  onTestFinished(() => tables[Symbol.dispose]());
  return { root, put, counters: () => tables.counters() };
}

describe('the counters', () => {
  it.each([
    ['nothing but memory', toSockstat(17, 5, 9), false],
    ['a socket more', toSockstat(18, 5), true],
    ['a listener more in the moment in which a connection ends', toSockstat(17, 6), true],
    ['an ended connection that is forgotten', toSockstat(17, 4), true],
  ])('with %s', (_name, after, isChange) => {
    const { counters, put } = open();
    put('sockstat', toSockstat(17, 5));
    const before = counters();
    expect(before).toBeDefined();
    put('sockstat', after);
    expect(counters() !== before).toBe(isChange);
  });

  it('count IPv6 where the kernel has it', () => {
    const { counters, put } = open();
    put('sockstat', toSockstat(17, 5));
    const without = counters();
    put('tcp6', '');
    put('sockstat6', 'TCP6: inuse 1\nUDP6: inuse 0\n');
    const before = counters();
    put('sockstat6', 'TCP6: inuse 2\nUDP6: inuse 0\n');
    expect(new Set([without, before, counters()]).size).toBe(3);
  });

  it('are nothing where the kernel does not show them, or no longer', () => {
    const { counters, put, root } = open();
    expect(counters()).toBeUndefined();
    put('sockstat', toSockstat(17, 5));
    expect(counters()).toBeDefined();
    put('sockstat', 'sockets: used 180\n');
    expect(counters()).toBeUndefined();
    rmSync(join(root, 'net', 'sockstat'));
    expect(counters()).toBeUndefined();
  });
});
