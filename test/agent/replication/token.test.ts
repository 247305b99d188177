// Cookies for reading one's own writes: what the agent gives after a write, and what it takes before a read.
import { expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { startReplicationAgent } from '../../support/replication-agent.ts';
import { startNode, tx } from '../../support/scripted-node.ts';

async function follow() {
  const node = await startNode();
  const agent = await startReplicationAgent({ nodeUrl: node.url });
  const connection = await node.next();
  connection.open();
  connection.send(tx('my.db', 0x27));
  await agent.reaches('my.db', 0x27);
  return { agent, connection };
}

const wait = (query: Readonly<Record<string, string>>) =>
  `/v1/replication/my.db/wait?${new URLSearchParams({ timeout: '0', ...query })}`;

test('the token has both forms and the lines that set them', async () => {
  const { agent } = await follow();
  expect((await agent.get('/v1/replication/my.db/token')).json).toEqual({
    db: 'my.db',
    __txid: '0000000000000027',
    txnum: '39',
    set_cookie: [
      '__txid=0000000000000027; Path=/; Max-Age=300; HttpOnly; SameSite=Lax',
      'txnum=39; Path=/; Max-Age=300; HttpOnly; SameSite=Lax; Secure',
    ],
    source: 'stream',
  });
  expect((await agent.get('/v1/replication/nope/token')).status).toBe(404);
});

test.each([
  [{ txid: '27' }, 200],
  [{ txid: '28' }, 408],
  [{ txnum: '39' }, 200],
  [{ txnum: '40' }, 408],
  [{ txnum: '18446744073709551615' }, 408],
  [{ txnum: '18446744073709551616' }, 400],
  [{ txnum: '-1' }, 400],
  [{ txnum: '1e3' }, 400],
  [{ txnum: '' }, 400],
  [{ cookie: '__txid=0000000000000027; other=1' }, 200],
  [{ cookie: '__txid=0000000000000028' }, 408],
  [{ cookie: 'txnum=39' }, 200],
  [{ cookie: 'a=b; txnum=40' }, 408],
  [{ cookie: '__txid=0000000000000027; txnum=40' }, 408],
  [{ cookie: 'session=abc' }, 200],
  [{ cookie: 'txnum=junk' }, 200],
  [{ cookie: '' }, 200],
  [{ txid: '27', txnum: '39' }, 400],
  [{}, 400],
])('a wait with %o is answered with %i', async (query, status) => {
  const { agent } = await follow();
  expect((await agent.get(wait(query))).status).toBe(status);
});

test('a wait by number ends when that transaction comes', async () => {
  const { agent, connection } = await follow();
  const answer = agent.get(wait({ txnum: '41', timeout: '10' }));
  await eventually(() => agent.replication.status().waiters === 1);
  connection.send(tx('my.db', 40), tx('my.db', 41));
  expect(await answer).toMatchObject({ status: 200, json: { txID: '0000000000000029' } });
});

test('a client that has written nothing does not wait for a database that nobody knows', async () => {
  const { agent } = await follow();
  expect(await agent.get('/v1/replication/nope/wait?cookie=session%3Dabc')).toMatchObject({
    status: 404,
    json: { error: 'unknown_database' },
  });
});
