// A rotation of vault keys over secrets of several kinds: every source is walked to its end, and none is lost to another.
import { expect, onTestFinished, test } from 'vitest';
import { Secret } from '../../src/core/secret.ts';
import { toConnectorPlace } from '../../src/platform/connectors/records/connector-place.ts';
import { createConnectorSecrets } from '../../src/platform/connectors/records/connector-secrets.ts';
import { createConnectorStore } from '../../src/platform/connectors/records/connector-store.ts';
import { openStorage } from '../../src/platform/storage/open-storage.ts';
import type { Storage } from '../../src/platform/storage/storage.ts';
import { takeUpKeys } from '../../src/platform/take-up-keys.ts';
import { rotateKeys } from '../../src/platform/vault/key-rotation.ts';
import type { SecretSource } from '../../src/platform/vault/secret-source.ts';
import { type ClosedSecret, createVault, type Vault } from '../../src/platform/vault/vault.ts';
import { memoryDir } from '../support/memory-dir.ts';
import { silentLog } from '../support/silent-log.ts';

const OLD_KEY = new Secret('ab'.repeat(32));
const NEW_KEY = new Secret('cd'.repeat(32));
/** More than two pages of a rotation. */
const COUNT = 230;

const toPlace = (id: string) => ({ kind: 'authorization', organization_id: 'org', id, bound: [id] }) as const;

interface StoredNote extends ClosedSecret {
  readonly id: string;
}

/** Secrets in a table of their own, as a second kind would keep them. */
function createNotes(storage: Storage): SecretSource & { find(id: string): Promise<ClosedSecret> } {
  const toSecret = ({ id, ...closed }: StoredNote) => ({ place: toPlace(id), closed });
  return {
    name: 'notes',
    async find(id) {
      const row = await storage.one<StoredNote>('SELECT * FROM notes WHERE id = $1', [id]);
      if (row === undefined) throw new Error(`there is no ${id}`);
      return row;
    },
    listKeyIds: async () =>
      (await storage.all<{ key_id: string }>('SELECT DISTINCT key_id FROM notes')).map(({ key_id }) => key_id),
    async listClosedOtherwise(key_id, after, limit) {
      const text = 'SELECT * FROM notes WHERE key_id <> $1 AND id > $2 ORDER BY id LIMIT $3';
      return (await storage.all<StoredNote>(text, [key_id, after, limit])).map(toSecret);
    },
    async setDataKey({ place, closed }, { key_id, data_key }) {
      const text = 'UPDATE notes SET key_id = $1, data_key = $2 WHERE id = $3 AND data_key = $4';
      return (await storage.run(text, [key_id, data_key, place.id, closed.data_key])) > 0;
    },
  };
}

async function openSecrets() {
  const storage = await openStorage(memoryDir(), undefined);
  onTestFinished(() => storage[Symbol.asyncDispose]());
  await storage.run(
    'CREATE TABLE notes (id TEXT PRIMARY KEY, key_id TEXT NOT NULL, data_key BLOB NOT NULL, secret BLOB NOT NULL)',
  );
  const old = createVault([OLD_KEY]);
  const connectors = createConnectorStore(storage);
  const organization_id = 'org';
  await storage.run("INSERT INTO organizations (id, slug, created_at) VALUES ('org', 'acme', 1)");
  const notes = createNotes(storage);
  for (let index = 0; index < COUNT; index += 1) {
    const id = `s-${String(index).padStart(3, '0')}`;
    const row = { id, organization_id, provider: 'hub', provider_account_id: 'a', connection_type: 'api_key' } as const;
    const placed = { ...row, base_api_url: null, access_policy: null };
    await connectors.insert({ ...placed, closed: old.close(toConnectorPlace(placed), new Secret(`c ${id}`)) }, 1);
    await insertNote(storage, old, id);
  }
  return { storage, connectors, notes, sources: [createConnectorSecrets(connectors), notes] };
}

async function insertNote(storage: Storage, vault: Vault, id: string): Promise<void> {
  const { key_id, data_key, secret } = vault.close(toPlace(id), new Secret(`n ${id}`));
  await storage.run('INSERT INTO notes (id, key_id, data_key, secret) VALUES ($1, $2, $3, $4)', [
    id,
    key_id,
    data_key,
    secret,
  ]);
}

test('closes those of every source, in pages, and each opens with the new key alone', async () => {
  const { connectors, notes, sources } = await openSecrets();
  const both = createVault([NEW_KEY, OLD_KEY]);
  expect(await rotateKeys(sources, both)).toEqual({ rotated: 2 * COUNT, unreadable: [] });
  for (const source of sources) expect(await source.listKeyIds()).toEqual([both.currentKeyId]);
  const alone = createVault([NEW_KEY]);
  expect(alone.open(toPlace('s-229'), await notes.find('s-229')).reveal()).toBe('n s-229');
  const row = await connectors.find('org', 's-229');
  if (row === undefined) throw new Error('not there');
  expect(alone.open(toConnectorPlace(row), row.closed).reveal()).toBe('c s-229');
  expect(await rotateKeys(sources, both)).toEqual({ rotated: 0, unreadable: [] });
});

test('names what it cannot read with its source, and goes on with the others', async () => {
  const { storage, sources } = await openSecrets();
  await storage.run("UPDATE connectors SET data_key = x'02' WHERE id IN ('s-003', 's-001')");
  await storage.run("UPDATE notes SET data_key = x'02' WHERE id = 's-001'");
  expect(await rotateKeys(sources, createVault([NEW_KEY, OLD_KEY]))).toEqual({
    rotated: 2 * COUNT - 3,
    unreadable: [
      { source: 'connectors', id: 's-001' },
      { source: 'connectors', id: 's-003' },
      { source: 'notes', id: 's-001' },
    ],
  });
});

test('leaves a secret that was closed again since it was listed', async () => {
  const { storage, notes } = await openSecrets();
  const both = createVault([NEW_KEY, OLD_KEY]);
  const racing: SecretSource = {
    ...notes,
    async listClosedOtherwise(key_id, after, limit) {
      const page = await notes.listClosedOtherwise(key_id, after, limit);
      if (after === '') {
        await storage.run("DELETE FROM notes WHERE id = 's-000'");
        await insertNote(storage, both, 's-000');
      }
      return page;
    },
  };
  expect(await rotateKeys([racing], both)).toEqual({ rotated: COUNT - 1, unreadable: [] });
  expect(both.open(toPlace('s-000'), await notes.find('s-000')).reveal()).toBe('n s-000');
});

test('a platform does not start without a key that any source needs', async () => {
  const { storage, connectors, notes } = await openSecrets();
  const both = createVault([NEW_KEY, OLD_KEY]);
  const first = createConnectorSecrets(connectors);
  await rotateKeys([first], both);
  const deps = { dir: memoryDir(), storage, connectors, vault: createVault([NEW_KEY]), host: 'local', log: silentLog };
  await takeUpKeys({ ...deps, sources: [first] });
  await expect(takeUpKeys({ ...deps, sources: [first, notes] })).rejects.toMatchObject({ code: 'not_configured' });
});
