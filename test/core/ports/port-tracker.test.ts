import { describe, expect, it } from 'vitest';
import { foldPorts, type PortTable, type SocketHolder } from '../../../src/core/ports/port-table.ts';
import { type TrackedPorts, trackPorts } from '../../../src/core/ports/port-tracker.ts';
import type { TcpListener } from '../../../src/core/ports/proc-net-tcp.ts';

/** One listener as `port inode pid [address]`; pid 0 = the holder cannot be seen. */
type Seen = readonly [port: number, inode: number, pid: number, address?: string];

function scan(seen: readonly Seen[], before: PortTable): PortTable {
  const holders = new Map<number, SocketHolder>();
  const listeners = seen.map(([port, inode, pid, address = '0.0.0.0']): TcpListener => {
    if (pid !== 0) holders.set(inode, { pid, start_ticks: undefined, command: `p${pid}` });
    return { family: address.includes(':') ? 'ipv6' : 'ipv4', address, port, inode, uid: 0 };
  });
  return foldPorts(listeners, (inode) => holders.get(inode), before);
}

/** What is said after each of the scans, as `+port/pid` and `-port/pid`, and the table at the end. */
function follow(scans: readonly (readonly Seen[])[]): { said: string[][]; tracked: TrackedPorts } {
  let tracked: TrackedPorts = { announced: new Map(), waiting: new Map() };
  const said = scans.map((seen) => {
    const step = trackPorts(tracked, scan(seen, tracked.announced));
    tracked = step.tracked;
    return step.changes.map(({ type, open }) => `${type === 'port_opened' ? '+' : '-'}${open.port}/${open.pid}`);
  });
  return { said, tracked };
}

describe('trackPorts', () => {
  const cases: [name: string, scans: Seen[][], said: string[][]][] = [
    ['opened, unchanged, closed', [[[80, 1, 9]], [[80, 1, 9]], []], [['+80/9'], [], ['-80/9']]],
    [
      'dual stack and several addresses as one port',
      [
        [
          [80, 1, 9],
          [80, 2, 9, '::'],
          [80, 3, 9, '127.0.0.1'],
        ],
        [[80, 2, 9, '::']],
        [],
      ],
      [['+80/9'], [], ['-80/9']],
    ],
    [
      'closed before opened, each by number',
      [
        [
          [90, 1, 9],
          [80, 2, 9],
        ],
        [
          [70, 3, 9],
          [60, 4, 9],
        ],
      ],
      [
        ['+80/9', '+90/9'],
        ['-80/9', '-90/9', '+60/9', '+70/9'],
      ],
    ],
    ['the same process closes and opens again', [[[80, 1, 9]], [[80, 2, 9]]], [['+80/9'], ['-80/9', '+80/9']]],
    ['another process takes the port over', [[[80, 1, 9]], [[80, 2, 7]]], [['+80/9'], ['-80/9', '+80/7']]],
    [
      'two processes share a port and hand it over',
      [
        [[80, 1, 9]],
        [
          [80, 1, 9],
          [80, 2, 10],
        ],
        [[80, 2, 10]],
        [],
      ],
      [['+80/9'], [], [], ['-80/10']],
    ],
    ['the holder changes while the socket stays', [[[80, 1, 9]], [[80, 1, 10]], []], [['+80/9'], [], ['-80/10']]],
    ['a pid known one scan later', [[[80, 1, 0]], [[80, 1, 9]], []], [[], ['+80/9'], ['-80/9']]],
    ['a pid never known', [[[80, 1, 0]], [[80, 1, 0]], [[80, 1, 0]], []], [[], [], ['+80/0'], ['-80/0']]],
    [
      'a pid known only after the port was announced',
      [[[80, 1, 0]], [[80, 1, 0]], [[80, 1, 0]], [[80, 1, 9]], []],
      [[], [], ['+80/0'], [], ['-80/9']],
    ],
    ['gone before its pid was known', [[[80, 1, 0]], []], [[], []]],
    ['the pid of a known port becomes invisible', [[[80, 1, 9]], [[80, 1, 0]]], [['+80/9'], []]],
    [
      'replaced by a socket whose pid comes later',
      [[[80, 1, 9]], [[80, 2, 0]], [[80, 2, 7]]],
      [['+80/9'], ['-80/9'], ['+80/7']],
    ],
    [
      'one of two holders is visible',
      [
        [
          [80, 1, 0],
          [80, 2, 9],
        ],
      ],
      [['+80/9']],
    ],
  ];
  it.each(cases)('%s', (_name, scans, said) => {
    expect(follow(scans).said).toEqual(said);
  });

  it('keeps the pid of the socket known longest, and the widest address first', () => {
    const { tracked } = follow([
      [[80, 5, 9, '127.0.0.1']],
      [
        [80, 5, 9, '127.0.0.1'],
        [80, 2, 4, '::'],
        [80, 3, 5, '10.0.0.1'],
      ],
    ]);
    expect(tracked.announced.get(80)).toEqual({
      port: 80,
      pid: 9,
      command: 'p9',
      uid: 0,
      addresses: ['::', '10.0.0.1', '127.0.0.1'],
      sockets: [5, 2, 3],
    });
  });

  it('treats what an earlier boot left as closed, and the same port as opened again', () => {
    const left = {
      port: 80,
      pid: 9,
      start_ticks: undefined,
      command: undefined,
      uid: 0,
      addresses: ['::'],
      sockets: [],
    };
    const tracked: TrackedPorts = { announced: new Map([[80, left]]), waiting: new Map() };
    const { changes } = trackPorts(tracked, scan([[80, 1, 9]], tracked.announced));
    expect(changes.map((change) => change.type)).toEqual(['port_closed', 'port_opened']);
  });
});
