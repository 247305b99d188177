// The primary in real time, through the whole daemon: a node that cannot reach its primary sends a pair of changes each second
// for a minute. Every raw event goes on to readers; hooks run for one change.
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { startAgent } from '../support/agent-process.ts';
import { eventually } from '../support/eventually.ts';
import { readLines } from '../support/read-lines.ts';
import { startNode } from '../support/scripted-node.ts';
import { tempDir } from '../support/temp-dir.ts';

const PAIRS = 60;
const nobody = { type: 'primaryChange', data: { isPrimary: false } };
const toChange = (hostname: string) => ({ type: 'primaryChange', data: { isPrimary: false, hostname } });

function openHook() {
  const dir = tempDir();
  mkdirSync(join(dir, 'primary-change.d'));
  const path = join(dir, 'primary-change.d', '10-tell');
  writeFileSync(path, `#!/bin/sh\ncat >> '${dir}/told'\n`);
  chmodSync(path, 0o755);
  const told = (): unknown[] => {
    if (!existsSync(join(dir, 'told'))) return [];
    const lines = readFileSync(join(dir, 'told'), 'utf8').split('\n').slice(0, -1);
    return lines.map((line) => JSON.parse(line));
  };
  return { dir, told };
}

test.each([
  { name: 'that end where they began', hostname: 'a:20202', changes: [] },
  { name: 'with another primary', hostname: 'b:20202', changes: [{ primary: 'remote', hostname: 'b:20202' }] },
])('a minute of pairs $name', async ({ hostname, changes }) => {
  const node = await startNode();
  const { dir, told } = openHook();
  const agent = await startAgent({ REMORA_NODE_URL: node.url, REMORA_HOOKS_DIR: dir });
  const connection = await node.next();
  connection.open({ type: 'init', data: { isPrimary: false, hostname: 'a:20202' } });
  await eventually(() => told().length === 1);
  const reader = await readLines('/events', agent.socket);
  await reader.next();
  for (let pair = 0; pair < PAIRS; pair += 1) {
    connection.send(nobody);
    await sleep(20);
    connection.send(toChange(hostname));
    expect([await reader.next(), await reader.next()]).toEqual([nobody, toChange(hostname)]);
    await sleep(980);
  }
  await sleep(5_000);
  expect(told()).toMatchObject([{ primary: 'remote', hostname: 'a:20202' }, ...changes]);
  const report = (await agent.get('/v1/replication')).json;
  expect(report).toMatchObject({ primary: 'remote', hostname, counts: { primary_changes: 2 * PAIRS } });
});
