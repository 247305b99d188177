// GET /events?since=: a reader goes on where it stopped, and every transaction is a line or lies in a gap.
import { expect, test } from 'vitest';
import { eventually } from '../../../support/eventually.ts';
import type { LineReader } from '../../../support/read-lines.ts';
import { type ReplicationAgentOptions, startReplicationAgent } from '../../../support/replication-agent.ts';
import { startNode, tx } from '../../../support/scripted-node.ts';

async function follow(options: Omit<ReplicationAgentOptions, 'nodeUrl'> = {}) {
  const node = await startNode();
  const agent = await startReplicationAgent({ nodeUrl: node.url, random: () => 0, ...options });
  const connection = await node.next();
  connection.open();
  await agent.connected();
  return { node, agent, connection };
}

type Line = Record<string, unknown>;

/** Everything up to and including the first line that fits, after what `lines` holds. */
async function readTo(reader: LineReader, fits: (line: Line) => boolean, lines: Line[] = []): Promise<Line[]> {
  for (;;) {
    const line = await reader.next();
    lines.push(line);
    if (fits(line)) return lines;
  }
}

/** The cursors up to the first line that fits. Where a machine that stands still has a reader cut, it goes on where it stopped. */
async function readCursors(
  read: (path: string) => Promise<LineReader>,
  since: number,
  fits: (line: Line) => boolean,
): Promise<number[]> {
  const lines: Line[] = [];
  const cursors = () => lines.flatMap(({ cursor }) => (typeof cursor === 'string' ? [Number(cursor)] : []));
  for (let isWhole = false; !isWhole; ) {
    const reader = await read(`/events?since=${cursors().at(-1) ?? since}`);
    const reading = readTo(reader, fits, lines);
    isWhole = await reading.then(
      () => true,
      async (error: unknown) => {
        if (lines.at(-1)?.type !== 'error') throw error;
        return false;
      },
    );
  }
  return cursors();
}

const isTx = (n: number) => (line: Line) =>
  line.type === 'tx' && (line.data as { txID: string }).txID === n.toString(16).padStart(16, '0');

const primaryChange = { type: 'primaryChange', data: { isPrimary: true } };

test('without since no line has a cursor', async () => {
  const { agent, connection } = await follow();
  const reader = await agent.read('/events');
  await reader.next();
  connection.send(tx('a', 1), tx('a', 3));
  expect([await reader.next(), await reader.next()]).toEqual([tx('a', 1), tx('a', 3)]);
});

test('since=0 gives init, all that is kept of all databases, and then what comes', async () => {
  const { agent, connection } = await follow();
  connection.send(tx('a', 1), tx('b', 1), tx('a', 2), tx('a', 5));
  await agent.reaches('a', 5);
  const reader = await agent.read('/events?since=0');
  const kept = await readTo(reader, ({ type }) => type === 'primaryChange');
  expect(kept).toEqual([
    { type: 'init', data: { isPrimary: true } },
    { ...tx('a', 1), cursor: '1' },
    { ...tx('b', 1), cursor: '2' },
    { ...tx('a', 2), cursor: '3' },
    { type: 'gap', db: 'a', data: { from: '0000000000000003', to: '0000000000000004', cause: 'jump' }, cursor: '4' },
    { ...tx('a', 5), cursor: '5' },
    primaryChange,
  ]);
  connection.send({ ...tx('a', 8), more: { of: 'it' } });
  expect(await reader.next()).toEqual({
    type: 'gap',
    db: 'a',
    data: { from: '0000000000000006', to: '0000000000000007', cause: 'jump' },
    cursor: '6',
  });
  expect(await reader.next()).toEqual({ ...tx('a', 8), more: { of: 'it' }, cursor: '7' });
});

test('since=now gives only what comes, with cursors to go on from', async () => {
  const { agent, connection } = await follow();
  connection.send(tx('a', 1));
  await agent.reaches('a', 1);
  const reader = await agent.read('/events?since=now');
  await reader.next();
  connection.send(tx('a', 2), { type: 'later', x: 1 }, { type: 'primaryChange', data: { isPrimary: false } });
  expect(await reader.next()).toEqual({ ...tx('a', 2), cursor: '2' });
  expect(await reader.next()).toEqual({ type: 'later', x: 1 });
  expect(await reader.next()).toMatchObject({ type: 'primaryChange' });
  const later = await agent.read('/events?since=2');
  const lines = await readTo(later, ({ type }) => type === 'primaryChange');
  expect(lines.map(({ type }) => type)).toEqual(['init', 'primaryChange']);
});

test('a reader that comes again after the node was away gets what it missed, and the gap', async () => {
  const { agent, connection, node } = await follow();
  const first = await agent.read('/events?since=now');
  connection.send(tx('a', 1));
  const [, line] = await readTo(first, isTx(1));
  connection.cut();
  expect(await first.ended).toBe('end');
  const again = await agent.read(`/events?since=${line?.cursor}`);
  const next = await node.next();
  next.open();
  next.send(tx('a', 4));
  const lines = await readTo(again, isTx(4));
  expect(lines.filter(({ type }) => type !== 'primaryChange')).toEqual([
    { type: 'init', data: { isPrimary: true } },
    {
      type: 'gap',
      db: 'a',
      data: { from: '0000000000000002', to: '0000000000000003', cause: 'disconnected' },
      cursor: '2',
    },
    { ...tx('a', 4), cursor: '3' },
  ]);
});

test('what was let go, and a cursor of a cache that is gone, are told first', async () => {
  const { agent, connection } = await follow({ historyCap: 3 });
  for (let n = 1; n <= 10; n += 1) connection.send(tx('a', n));
  await agent.reaches('a', 10);
  const trimmed = (cursor: string) => ({ type: 'gap', data: { cause: 'trimmed' }, cursor });
  const old = await readTo(await agent.read('/events?since=2'), isTx(10));
  expect(old.slice(1, 3)).toEqual([trimmed('7'), { ...tx('a', 8), cursor: '8' }]);
  const lost = await readTo(await agent.read('/events?since=999'), isTx(10));
  expect(lost.slice(1, 3)).toEqual([trimmed('0'), trimmed('7')]);
  expect((await readTo(await agent.read('/events?since=7'), isTx(10)))[1]).toEqual({ ...tx('a', 8), cursor: '8' });
});

test.each(['', 'x', '-1', '1.5', '9999999999999999'])('since=%s is refused', async (since) => {
  const { agent } = await follow();
  expect((await agent.get(`/events?since=${since}`)).status).toBe(400);
});

test('readers that come in the middle of a flood get every transaction once and in order', async () => {
  // A busy machine takes so long for all of them that a node which has nothing more to say would be taken for a dead one.
  const { agent, connection } = await follow({ timing: { silence_ms: 600_000 } });
  const all = 20_000;
  let sent = 0;
  const flood = setInterval(() => {
    const events = Array.from({ length: Math.min(400, all - sent) }, () => {
      sent += 1;
      return tx(sent % 3 === 0 ? 'b' : 'a', sent, { commit: 1 });
    });
    if (events.length > 0) connection.send(...events);
  }, 4);
  await eventually(() => sent > 2_000);
  const begins = [0, 500, 1_999];
  const read = await Promise.all(begins.map((since) => readCursors(agent.read, since, isTx(all))));
  for (const [at, begin] of begins.entries()) {
    const cursors = read[at] ?? [];
    expect(cursors.length).toBeGreaterThanOrEqual(all - begin);
    expect(cursors).toEqual(Array.from(cursors, (_, n) => begin + 1 + n));
  }
  clearInterval(flood);
});

test('a reader that does not read is not given pages without end', async () => {
  const { agent, connection } = await follow({ timing: { silence_ms: 600_000 } });
  for (let n = 1; n <= 40; n += 1) {
    connection.send(...Array.from({ length: 1_000 }, (_, at) => tx('a', (n - 1) * 1_000 + at + 1)));
  }
  await agent.reaches('a', 40_000);
  const stuck = await agent.read('/events?since=0');
  stuck.response.pause();
  const cursors = await readCursors(agent.read, 0, isTx(40_000));
  expect(cursors).toEqual(Array.from({ length: 40_000 }, (_, n) => n + 1));
  await eventually(() => agent.replication.status().readers === 2);
  stuck.close();
  await eventually(() => agent.replication.status().readers === 1);
});
