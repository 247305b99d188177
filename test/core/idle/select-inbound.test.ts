import { describe, expect, it } from 'vitest';
import { toConnectionKey } from '../../../src/core/connections/tcp-connection.ts';
import { isFromOutside, selectInbound } from '../../../src/core/idle/select-inbound.ts';

const end = (local: string, peer: string, inode: number) => {
  const [, address = '', port = ''] = /^(.*):(\d+)$/.exec(local) ?? [];
  const [, peerAddress = '', peerPort = ''] = /^(.*):(\d+)$/.exec(peer) ?? [];
  return { local: address, local_port: Number(port), peer: peerAddress, peer_port: Number(peerPort), inode, bytes: 1 };
};

const all = [
  end('10.0.0.7:8080', '10.0.0.9:5000', 1),
  end('10.0.0.7:5001', '10.0.0.9:443', 2),
  end('127.0.0.1:8080', '127.0.0.1:6000', 3),
  end('127.0.0.1:6000', '127.0.0.1:8080', 4),
  end('127.0.0.1:8080', '127.0.0.1:6001', 5),
  end('127.0.0.1:6001', '127.0.0.1:8080', 6),
  end('127.0.0.1:4181', '127.0.0.1:6002', 7),
];
const none = new Set<string>();

describe('inbound connections', () => {
  it.each<[string, number[], number[], number[]]>([
    ['those to an announced port', [8_080], [], [1, 3, 5]],
    ['not those that the agent made', [8_080], [6], [1, 3]],
    ['not those that the agent accepted', [8_080, 4_181], [7], [1, 3, 5]],
    ['none without announced ports', [], [], []],
  ])('are %s', (_case, ports, own, inodes) => {
    const found = selectInbound(all, { ports: new Set(ports), ownInodes: new Set(own), known: none });
    expect(found.map(({ inode }) => inode)).toEqual(inodes);
  });

  it('stay so when their listener closes', () => {
    const known = new Set(all.filter(({ inode }) => inode === 1).map(toConnectionKey));
    expect(selectInbound(all, { ports: new Set(), ownInodes: new Set(), known })).toHaveLength(1);
  });

  it.each([
    ['10.0.0.7:80', '10.0.0.9:5000', true],
    ['127.0.0.1:80', '127.0.0.1:5000', false],
    ['127.0.0.1:80', '127.0.0.53:5000', false],
    ['::1:80', '::1:5000', false],
    ['10.0.0.7:80', '10.0.0.7:5000', false],
    ['2001:db8::1:80', '2001:db8::2:5000', true],
  ])('from %s to %s come from outside: %s', (local, peer, outside) => {
    expect(isFromOutside(end(local, peer, 1))).toBe(outside);
  });
});
