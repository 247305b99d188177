import { describe, expect, it } from 'vitest';
import { planNotices } from '../../../src/core/ports/notice-plan.ts';
import { judgeRefusal } from '../../../src/core/ports/notice-verdict.ts';
import type { OpenPort, PortTable } from '../../../src/core/ports/port-table.ts';

/** Ports by the socket that serves them. */
function table(sockets: Record<number, number>): PortTable {
  const ports = Object.entries(sockets).map(([port, inode]): [number, OpenPort] => {
    const open = {
      port: Number(port),
      pid: inode,
      start_ticks: undefined,
      command: 'x',
      uid: 0,
      addresses: ['::'],
      sockets: [inode],
    };
    return [open.port, open];
  });
  return new Map(ports);
}

function plan(
  told: Record<number, number>,
  open: Record<number, number>,
  waiting: Record<number, number> = {},
  room = 100,
) {
  const counts = new Map(Object.entries(waiting).map(([port, count]) => [Number(port), count]));
  const made = planNotices({ announced: table(told), open: table(open), waiting: counts, room });
  return {
    said: made.changes.map(({ type, open: { port, pid } }) => `${type === 'port_opened' ? '+' : '-'}${port}/${pid}`),
    told: Object.fromEntries([...made.announced].map(([port, { pid }]) => [port, pid])),
    behind: made.behind,
  };
}

describe('planNotices', () => {
  it.each([
    ['nothing new', plan({ 80: 1 }, { 80: 1 }), { said: [], told: { 80: 1 }, behind: false }],
    ['opened and closed', plan({ 80: 1 }, { 81: 2 }), { said: ['-80/1', '+81/2'], told: { 81: 2 }, behind: false }],
    ['replaced', plan({ 80: 1 }, { 80: 2 }), { said: ['-80/1', '+80/2'], told: { 80: 2 }, behind: false }],
    ['one notice waits', plan({ 80: 1 }, {}, { 80: 1 }), { said: ['-80/1'], told: {}, behind: false }],
    [
      'two notices wait',
      plan({ 80: 1 }, { 81: 2 }, { 80: 2 }),
      { said: ['+81/2'], told: { 80: 1, 81: 2 }, behind: true },
    ],
    [
      'two wait and it is as it was told',
      plan({ 80: 1 }, { 80: 1 }, { 80: 2 }),
      { said: [], told: { 80: 1 }, behind: false },
    ],
    ['room for one of two', plan({}, { 80: 1, 81: 2 }, {}, 1), { said: ['+80/1'], told: { 80: 1 }, behind: true }],
    ['no room for half a replacement', plan({ 80: 1 }, { 80: 2 }, {}, 1), { said: [], told: { 80: 1 }, behind: true }],
    ['no room at all', plan({}, { 80: 1 }, {}, 0), { said: [], told: {}, behind: true }],
  ])('%s', (_name, made, expected) => {
    expect(made).toEqual(expected);
  });

  it('keeps up with who holds a listener that stays, without a notice', () => {
    const before = table({ 80: 1 });
    const now = new Map([
      [80, { port: 80, pid: 7, start_ticks: undefined, command: 'y', uid: 0, addresses: ['::'], sockets: [1, 2] }],
    ]);
    const made = planNotices({ announced: before, open: now, waiting: new Map([[80, 2]]), room: 0 });
    expect(made).toEqual({ changes: [], announced: now, behind: false });
  });
});

describe('judgeRefusal', () => {
  it.each([
    [undefined, 5, 'retry'],
    [200, 5, 'retry'],
    [302, 5, 'retry'],
    [500, 1, 'retry'],
    [503, 1, 'retry'],
    [408, 1, 'retry'],
    [429, 1, 'retry'],
    [409, 1, 'retry'],
    [401, 1, 'retry'],
    [403, 1, 'retry'],
    [404, 1, 'retry'],
    [400, 5, 'split'],
    [413, 2, 'split'],
    [400, 1, 'set_aside'],
    [422, 1, 'set_aside'],
  ] as const)('status %s for %i notices: %s', (status, notices, verdict) => {
    expect(judgeRefusal(status, notices)).toBe(verdict);
  });
});
