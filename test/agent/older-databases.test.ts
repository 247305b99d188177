// State directories as earlier versions of the agent left them, opened by today's: what they held goes on, and everything is served.
//
// `schema-1` is the first agent.db there was. `before-segments` is from a version that kept the log of calls in agent.db and the history of
// the replica in rows; it was stopped in the middle of its work.
import { copyFileSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { startAgent } from '../support/agent-process.ts';
import { readLines } from '../support/read-lines.ts';
import { soon } from '../support/soon.ts';
import { tempDir } from '../support/temp-dir.ts';

function copyState(name: string): string {
  const dir = tempDir();
  const fixture = new URL(`fixtures/${name}/`, import.meta.url).pathname;
  mkdirSync(join(dir, 'state'), { mode: 0o700 });
  for (const file of readdirSync(fixture)) copyFileSync(join(fixture, file), join(dir, 'state', file));
  return dir;
}

function inspect(path: string) {
  const db = new Database(path, { readonly: true });
  try {
    const tables = db.prepare<[], { name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
    return { version: Number(db.pragma('user_version', { simple: true })), tables: tables.map(({ name }) => name) };
  } finally {
    db.close();
  }
}

/** The number of the first event of a start. */
async function firstEvent(socket: string): Promise<unknown> {
  const reader = await readLines('/v1/events?since=0', socket);
  for (;;) {
    const { type, seq } = await reader.next();
    if (type === 'agent_started') return seq;
  }
}

const NODE = { REMORA_NODE_URL: 'http://127.0.0.1:9' };

test('a state directory from before the log and the history had files and batches of their own goes on', async () => {
  const dir = copyState('before-segments');
  expect(inspect(join(dir, 'state', 'agent.db'))).toMatchObject({ version: 6 });
  expect(inspect(join(dir, 'state', 'replication.db'))).toMatchObject({ version: 1 });
  const agent = await startAgent(NODE, dir);
  expect((await agent.get('/v1/status')).json).toMatchObject({
    generation: 0,
    incarnation: '953bae1c994756665f09b808441170a9',
    parts: { store: { state: 'ok' } },
  });
  for (const target of ['/v1/tasks', '/v1/gateway/tokens', '/v1/gateway/log', '/v1/ports', '/v1/machine']) {
    await soon(async () => expect([target, (await agent.get(target)).status]).toEqual([target, 200]));
  }
  await soon(async () =>
    expect((await agent.get('/v1/replication/app.db')).json).toMatchObject({
      txID: '00000000000000a1',
      state: 'stale',
    }),
  );
  expect(await firstEvent(agent.socket)).toBeGreaterThanOrEqual(1_024);
  agent.child.kill('SIGTERM');
  expect(await agent.ended).toBe(0);
  expect(inspect(join(dir, 'state', 'agent.db')).tables).not.toContain('gateway_log');
  expect(inspect(join(dir, 'state', 'replication.db')).tables).toContain('segments');
  expect(readdirSync(join(dir, 'state')).filter((name) => name.includes('damaged'))).toEqual([]);
  const again = await startAgent(NODE, dir);
  await soon(async () =>
    expect((await again.get('/v1/replication/app.db')).json).toMatchObject({ txID: '00000000000000a1' }),
  );
});

test('the first agent.db there was is brought to what there is today, and its event numbers go on', async () => {
  const dir = copyState('schema-1');
  expect(inspect(join(dir, 'state', 'agent.db'))).toEqual({ version: 1, tables: ['counters'] });
  const agent = await startAgent({}, dir);
  expect((await agent.get('/v1/status')).json).toMatchObject({ parts: { store: { state: 'ok' } } });
  expect(await firstEvent(agent.socket)).toBeGreaterThanOrEqual(2_048);
  await soon(async () => expect((await agent.get('/v1/gateway/log')).status).toBe(200));
  const made = await agent.ask({
    method: 'POST',
    target: '/v1/tasks',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'a', expire: 60 }),
  });
  expect(made.status).toBeLessThan(300);
  agent.child.kill('SIGTERM');
  expect(await agent.ended).toBe(0);
  expect(inspect(join(dir, 'state', 'agent.db')).version).toBeGreaterThan(6);
});
