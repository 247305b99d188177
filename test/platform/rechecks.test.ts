// What is looked at again when something changes: what belongs to the sprite that changed, and nothing of others, so that a sprite
// whose machine claims one incarnation after the other costs its own calls and channels only.
import { once } from 'node:events';
import { duplexPair } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { RemoraError } from '../../src/core/remora-error.ts';
import { createChanges } from '../../src/platform/changes.ts';
import { openChannels } from '../../src/platform/channels/open-channels.ts';
import { createFencing } from '../../src/platform/fencing/fencing.ts';
import type { IncarnationStore } from '../../src/platform/fencing/incarnation-store.ts';
import type { KnownIncarnation } from '../../src/platform/fencing/known-incarnation.ts';
import { createOpenCalls } from '../../src/platform/gateway/open-calls.ts';
import { StorageFailure } from '../../src/platform/storage/storage.ts';
import { eventually } from '../support/eventually.ts';
import { silentLog } from '../support/silent-log.ts';

const incarnation = { generation: 1, incarnation: 'a1'.repeat(16) };
const next = { generation: 2, incarnation: 'b2'.repeat(16) };
const sprites = ['one', 'two', 'three'] as const;

function createCountedStore() {
  const records = new Map<string, KnownIncarnation>();
  for (const id of sprites) records.set(id, { ...incarnation, nonces: { type: 'none' } });
  const loaded: string[] = [];
  const store: Pick<IncarnationStore, 'load' | 'replace'> = {
    async load(sprite_id) {
      loaded.push(sprite_id);
      return { known: records.get(sprite_id), isAdopting: false, taken_over_at: null };
    },
    async replace(sprite_id, known) {
      records.set(sprite_id, known);
      return true;
    },
  };
  return { store: store as IncarnationStore, records, loaded };
}

test('a new incarnation has the channel of its own sprite looked at, and closed', async () => {
  const { store, records, loaded } = createCountedStore();
  const changes = createChanges();
  const channels = openChannels(changes, undefined, silentLog, systemClock);
  onTestFinished(() => channels[Symbol.asyncDispose]());
  for (const sprite_id of sprites) {
    const [socket] = duplexPair();
    const readKnown = async () => (await store.load(sprite_id))?.known;
    channels.attach({ machine_id: `machine of ${sprite_id}`, sprite_id, incarnation, readKnown, socket });
  }
  await createFencing(store, changes).admit('two', records.get('two'), next);
  await eventually(() => channels.find('machine of two') === undefined);
  expect(loaded).toEqual(['two']);
  expect(channels.counts().channels).toBe(2);
  changes.publish({ type: 'revalidation_due' });
  await eventually(() => loaded.length > 2);
  expect(loaded).toEqual(['two', 'one', 'three']);
});

test('a channel whose token has ended is closed with the reason, and one that cannot be judged stays', async () => {
  const changes = createChanges();
  const said: object[] = [];
  const log = { ...silentLog, debug: (fields: object) => void said.push(fields) };
  const channels = openChannels(changes, undefined, log, systemClock);
  onTestFinished(() => channels[Symbol.asyncDispose]());
  const readers = {
    one: async () => incarnation,
    two: () => Promise.reject(new RemoraError('unauthorized', 'the token is not valid any more')),
    three: () => Promise.reject(new StorageFailure('the database is away')),
  };
  for (const sprite_id of sprites) {
    const [socket] = duplexPair();
    channels.attach({ machine_id: sprite_id, sprite_id, incarnation, readKnown: readers[sprite_id], socket });
  }
  changes.publish({ type: 'revalidation_due' });
  await eventually(() => channels.find('two') === undefined);
  expect(said).toContainEqual({ machine: 'two', reason: 'the token is not valid any more' });
  expect(sprites.filter((id) => channels.find(id) !== undefined)).toEqual(['one', 'three']);
});

test('a channel that is replaced before it is connected ends without an error', async () => {
  const channels = openChannels(createChanges(), undefined, silentLog, systemClock);
  onTestFinished(() => channels[Symbol.asyncDispose]());
  const sockets = sprites.map(() => duplexPair()[0]);
  const attached = { machine_id: 'm', sprite_id: 'one', incarnation, readKnown: async () => incarnation };
  for (const socket of sockets) channels.attach({ ...attached, socket });
  await eventually(() => sockets.filter(({ destroyed }) => destroyed).length > 1);
  expect(sockets.map(({ destroyed }) => destroyed)).toEqual([true, true, false]);
  expect(channels.counts().channels).toBe(1);
});

test('a channel is closed although its machine has just ended the connection, and takes nothing', async () => {
  const channels = openChannels(createChanges(), undefined, silentLog, systemClock);
  onTestFinished(() => channels[Symbol.asyncDispose]());
  const [socket, other] = duplexPair();
  channels.attach({ machine_id: 'm', sprite_id: 'one', incarnation, readKnown: async () => incarnation, socket });
  await once(other, 'data');
  other.pause();
  other.end();
  await once(socket, 'end');
  for (let turn = 0; turn < 3; turn += 1) await nextTurn();
  channels.closeOf('one', 'the test is over');
  await eventually(() => socket.destroyed);
  expect(channels.counts().channels).toBe(0);
});

test('calls are judged again by connector, by sprite, or all', async () => {
  const judged: string[] = [];
  const calls = createOpenCalls({ grace_ms: 0, now_ms: () => 0 });
  const begin = (name: string, connector_id: string, sprite_id: string | undefined) =>
    calls.begin({ connector_id, sprite_id, recheck: async () => void judged.push(name) });
  begin('a', 'c1', 'one');
  begin('b', 'c1', 'two');
  begin('c', 'c2', undefined);
  const over = begin('d', 'c2', 'two');
  const take = () => judged.splice(0).toSorted().join('');
  await calls.recheck({ connector_id: 'c1' });
  expect(take()).toBe('ab');
  await calls.recheck({ sprite_id: 'two' });
  expect(take()).toBe('bd');
  over[Symbol.dispose]();
  await calls.recheck({ sprite_id: 'two' });
  expect(take()).toBe('b');
  await calls.recheck();
  expect(take()).toBe('abc');
});
