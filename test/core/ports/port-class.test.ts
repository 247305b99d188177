import { describe, expect, it } from 'vitest';
import { IGNORE_NONE, parseIgnoredPorts, toPortClass } from '../../../src/core/ports/port-class.ts';

function open(port: number, command: string | undefined) {
  return { port, pid: 9, command, start_ticks: 1, uid: 0, addresses: ['::'], sockets: [1] };
}

describe('toPortClass', () => {
  it.each([
    ['sshd: /usr/sbin/sshd -D [listener]', 'system'],
    ['sshd', 'system'],
    ['systemd', 'system'],
    ['systemd-resolved', 'system'],
    ['rpc.statd', 'system'],
    ['init', 'system'],
    ['initdb', 'app'],
    ['systemd-like', 'system'],
    ['sshdx', 'app'],
    ['node', 'app'],
    ['', 'app'],
    [undefined, 'app'],
  ])('of %s is %s', (command, expected) => {
    expect(toPortClass(open(22, command), IGNORE_NONE)).toBe(expected);
  });

  const ignore = {
    ranges: [
      [22, 22],
      [9_000, 9_010],
    ],
    system: true,
  } as const;
  it.each([
    [22, 'node', 'ignored'],
    [8_999, 'node', 'app'],
    [9_000, 'node', 'ignored'],
    [9_010, 'node', 'ignored'],
    [9_011, 'node', 'app'],
    [2_222, 'sshd', 'ignored'],
  ])('with settings: %i of %s is %s', (port, command, expected) => {
    expect(toPortClass(open(port, command), ignore)).toBe(expected);
  });
});

describe('parseIgnoredPorts', () => {
  it('reads ports, ranges and the word system', () => {
    expect(parseIgnoredPorts(['22', 'system', '9000-9010', '1 - 2'])).toEqual({
      ranges: [
        [22, 22],
        [9_000, 9_010],
        [1, 2],
      ],
      system: true,
    });
    expect(parseIgnoredPorts([])).toEqual(IGNORE_NONE);
  });

  it.each(['0', '65536', '10-9', 'http', '-1', '1-', '22x', '1-2-3', ''])('refuses %j', (word) => {
    expect(parseIgnoredPorts([word])).toBeUndefined();
  });
});
