// The agent is killed with SIGKILL at any moment. What was committed is there afterwards, whole, and says that it is stale.
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { parseRowText } from '../../../../src/agent/replication/cache/parse-history-text.ts';
import { ask } from '../../../support/ask.ts';
import { startChild } from '../../../support/child-lines.ts';
import { eventually } from '../../../support/eventually.ts';
import { startReplicationAgent } from '../../../support/replication-agent.ts';
import { startNode, tx } from '../../../support/scripted-node.ts';
import { tempDir } from '../../../support/temp-dir.ts';

const child = new URL('../../../support/replication-child.ts', import.meta.url).pathname;

interface Stored {
  readonly position: string;
  readonly ids: readonly string[];
  readonly gaps: readonly (readonly [string, string])[];
}

/** What the file holds, read by another program after the kill. */
function readFile(stateDir: string, db: string): Stored {
  const file = new Database(join(stateDir, 'replication.db'), { readonly: true });
  const position = file.prepare<[string], { tx_id: string }>('SELECT tx_id FROM positions WHERE db = ?').get(db);
  const rows = file
    .prepare<[string], { rows: string }>('SELECT rows FROM segments WHERE db = ? ORDER BY last_seq')
    .all(db)
    .flatMap((segment) => segment.rows.split('\n').map(parseRowText));
  file.close();
  return {
    position: position?.tx_id ?? '',
    ids: rows.flatMap((row) => (row.type === 'tx' ? [row.entry.transaction.txID] : [])),
    gaps: rows.flatMap((row) => (row.type === 'gap' ? [[row.missed.from, row.missed.to] as const] : [])),
  };
}

test('after a kill the positions are those of the last batch, and every id is a row or in a gap', async () => {
  const stateDir = tempDir();
  const node = await startNode();
  let id = 0;
  for (let round = 0; round < 4; round += 1) {
    const path = join(tempDir(), `${round}.sock`);
    const killed = startChild(process.execPath, [child, path, stateDir, node.url]);
    await killed.line(/started/);
    const connection = await node.next();
    connection.open();
    id += 3;
    const send = setInterval(() => {
      for (let n = 0; n < 40; n += 1) {
        id += 1;
        connection.send(tx('a', id));
      }
    }, 1);
    await eventually(() => id > 200 * (round + 1));
    // Reading the history commits everything that was read from the node before: that much is acknowledged.
    const answer = await ask(path, { target: '/v1/replication/a' });
    const acknowledged = (answer.json as { txID: string }).txID;
    expect((await ask(path, { target: '/v1/replication/a/transactions?limit=1' })).status).toBe(200);
    await eventually(() => id > 250 * (round + 1));
    killed.process.kill('SIGKILL');
    expect(await killed.ended).toBe('SIGKILL');
    clearInterval(send);

    const stored = readFile(stateDir, 'a');
    expect(stored.position >= acknowledged).toBe(true);
    expect(stored.ids.at(-1)).toBe(stored.position);
    const missed = stored.gaps.reduce((sum, [from, to]) => sum + Number(`0x${to}`) - Number(`0x${from}`) + 1, 0);
    expect(new Set(stored.ids).size).toBe(stored.ids.length);
    expect(stored.ids.length + missed).toBe(Number(`0x${stored.position}`));
    expect(stored.gaps).toHaveLength(round + 1);
  }

  const stored = readFile(stateDir, 'a');
  await node.stop();
  const agent = await startReplicationAgent({ nodeUrl: node.url, stateDir });
  const answer = (await agent.get('/v1/replication/a')).json as { txID: string; state: string; age_ms: number };
  expect(answer).toMatchObject({ txID: stored.position, state: 'stale', reason: 'the node is not connected' });
  expect(answer.age_ms).toBeGreaterThan(0);
  await node.restart();
  const connection = await node.next();
  connection.open();
  const next = Number(`0x${stored.position}`) + 1;
  connection.send(tx('a', next));
  await agent.reaches('a', next);
  expect((await agent.get('/v1/replication/a')).json).toMatchObject({ state: 'live' });
  expect(agent.events.map(({ type }) => type)).not.toContain('replication_gap');
});
