// A long list of positions leaves turns of the loop to others.
import { expect, it } from 'vitest';
import { listPositions } from '../../../src/agent/replication/list-positions.ts';
import { createReplica } from '../../../src/agent/replication/replica.ts';
import type { Following } from '../../../src/agent/replication/replication-status.ts';
import { systemClock } from '../../../src/core/clock.ts';

const checksum = '9d82cc8180b4718a';
const timestamp = '2026-11-21T13:11:22.025Z';

function followingOf(count: number): Following {
  const replica = createReplica(0);
  for (let index = 0; index < count; index += 1) {
    const db = `db-${String(index).padStart(5, '0')}`;
    const data = { db, txID: '0000000000000002', preApplyChecksum: checksum, postApplyChecksum: checksum };
    replica.apply({ type: 'tx', db, data: { ...data, pageSize: 4096, commit: 3, timestamp } }, 0);
  }
  // Nothing of the rest is read.
  return { replica, recorder: { connected: true }, cache: { condition: { state: 'file' } } } as unknown as Following;
}

it('lists 10,000 databases in several turns, each database once and by name', async () => {
  const following = followingOf(10_000);
  let turns = 0;
  let isOver = false;
  const count = () => {
    if (isOver) return;
    turns += 1;
    setImmediate(count);
  };
  setImmediate(count);
  const names = (await listPositions(following, systemClock)).map(({ db }) => db);
  isOver = true;
  expect(turns).toBeGreaterThanOrEqual(9);
  expect(names).toEqual([...following.replica.entries.keys()].sort());
});

it('leaves out what is forgotten meanwhile', async () => {
  const following = followingOf(3_000);
  const list = listPositions(following, systemClock);
  following.replica.clear();
  expect(await list).toHaveLength(1_000);
});
