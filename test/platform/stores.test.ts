// Every store of the platform, and the port behind it, on each database that a platform can have.
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { Secret } from '../../src/core/secret.ts';
import { createChanges } from '../../src/platform/changes.ts';
import { createStateStore, toStatePlace } from '../../src/platform/connectors/oauth/state-store.ts';
import { toConnectorPlace } from '../../src/platform/connectors/records/connector-place.ts';
import { createConnectorSecrets } from '../../src/platform/connectors/records/connector-secrets.ts';
import { createConnectorStore } from '../../src/platform/connectors/records/connector-store.ts';
import { createFencing } from '../../src/platform/fencing/fencing.ts';
import { createIncarnationStore } from '../../src/platform/fencing/incarnation-store.ts';
import { createUsageStore } from '../../src/platform/gateway/usage/usage-store.ts';
import { createHostStore } from '../../src/platform/hosts/host-store.ts';
import { createMachineLimits } from '../../src/platform/machines/records/machine-limits.ts';
import { createMachineStore } from '../../src/platform/machines/records/machine-store.ts';
import { createNetworkPolicyStore } from '../../src/platform/network-policies/network-policy-store.ts';
import { createOrganizationStore } from '../../src/platform/organizations/organization-store.ts';
import { createNoticeStore } from '../../src/platform/port-notices/port-notice-store.ts';
import { createSpriteService } from '../../src/platform/sprites/sprite-service.ts';
import { createSpriteStore } from '../../src/platform/sprites/sprite-store.ts';
import type { Storage } from '../../src/platform/storage/storage.ts';
import { createCallerStore } from '../../src/platform/tokens/caller-store.ts';
import { createKeptCallers } from '../../src/platform/tokens/kept-callers.ts';
import { createTokenStore, toTokenHash } from '../../src/platform/tokens/token-store.ts';
import { rotateKeys } from '../../src/platform/vault/key-rotation.ts';
import {
  checkRunningPlatformsHave,
  forgetRunningKeys,
  writeRunningKeys,
} from '../../src/platform/vault/running-keys.ts';
import { createVault } from '../../src/platform/vault/vault.ts';
import { toTestStorages } from '../support/test-storages.ts';

const vault = createVault([new Secret('ab'.repeat(32))]);
const clock = { wall_ms: () => 1_700_000_000_000, mono_ms: () => 0 };
const one = 'a'.repeat(32);
const other = 'b'.repeat(32);

describe.each(toTestStorages())('on $name', ({ name, skip, start, end, create }) => {
  if (skip) {
    test.skip('the stores', () => undefined);
    return;
  }
  beforeAll(start);
  afterAll(end);

  async function open(): Promise<Storage> {
    const storage = await (await create())();
    onTestFinished(() => storage[Symbol.asyncDispose]());
    return storage;
  }

  /** Opens a storage with an organization and, for each name, a sprite with its machine. */
  async function openWith(...names: readonly string[]) {
    const storage = await open();
    const organization = await createOrganizationStore(storage).create('acme', 1);
    const sprites = createSpriteStore(storage);
    const machines = createMachineStore(storage);
    const machineService = { destroy: async (id: string) => await machines.delete(id, 1) };
    const service = createSpriteService({
      storage,
      sprites,
      machines,
      machineService,
      changes: createChanges(),
      clock,
    });
    for (const name of names) await service.create(organization, { name });
    const machineOf = async (name: string) => {
      const sprite = await sprites.findByName(organization.id, name);
      const machine = await machines.findBySprite(sprite?.id ?? '');
      if (machine === undefined) throw new Error(`no machine of ${name}`);
      return machine;
    };
    return { storage, organization, sprites, machines, service, machineOf };
  }

  function toConnector(organization_id: string, id: string) {
    const row = {
      id,
      organization_id,
      provider: 'openai',
      provider_account_id: 'account',
      connection_type: 'oauth' as const,
      base_api_url: null,
      access_policy: null,
    };
    return { ...row, closed: vault.close(toConnectorPlace(row), new Secret(`secret of ${id}`)) };
  }

  describe('a transaction', () => {
    test('is whole or nothing', async () => {
      const storage = await open();
      const organizations = createOrganizationStore(storage);
      const work = storage.transaction(async (sql) => {
        await createOrganizationStore(sql).create('acme', 1);
        throw new Error('in the middle');
      });
      await expect(work).rejects.toThrow('in the middle');
      expect(await organizations.list()).toEqual([]);
      await storage.transaction(async (sql) => {
        await createOrganizationStore(sql).create('acme', 1);
      });
      expect(await organizations.list()).toMatchObject([{ slug: 'acme' }]);
    });

    test('keeps out what is asked beside it until it is over', async () => {
      const storage = await open();
      const organizations = createOrganizationStore(storage);
      const order: string[] = [];
      let beside: Promise<unknown> | undefined;
      await storage.transaction(async (sql) => {
        await createOrganizationStore(sql).create('inside', 1);
        beside = organizations.create('beside', 1).then(() => order.push('beside'));
        await sleep(20);
        order.push('inside');
      });
      await beside;
      expect(await organizations.list()).toHaveLength(2);
      if (name === 'SQLite') expect(order).toEqual(['inside', 'beside']);
    });

    test('of one turn sees what the one before has written, so that no count is passed', async () => {
      const storage = await open();
      const organizations = createOrganizationStore(storage);
      const attempts = Array.from({ length: 12 }, (_, index) =>
        storage.transaction(async (sql) => {
          const rows = await sql.all('SELECT id FROM organizations');
          await sleep(1);
          if (rows.length < 3) await createOrganizationStore(sql).create(`o-${index}`, 1);
        }, 'three'),
      );
      await Promise.all(attempts);
      expect(await organizations.list()).toHaveLength(3);
    });

    test('whose query failed writes nothing, though the work went on', async () => {
      const storage = await open();
      const work = storage.transaction(async (sql) => {
        await sql.run("INSERT INTO organizations (id, slug, created_at) VALUES ('a', 'a', 1)");
        await sql.run("INSERT INTO organizations (id, slug, created_at) VALUES ('b', 'a', 1)").catch(() => undefined);
        return 'went on';
      });
      const rows = async () => (await storage.all('SELECT id FROM organizations')).length;
      if (name === 'SQLite') {
        // SQLite takes a failed query back alone.
        expect(await work).toBe('went on');
        expect(await rows()).toBe(1);
      } else {
        await expect(work).rejects.toThrow('duplicate key');
        expect(await rows()).toBe(0);
      }
    });
  });

  test('work of one name is done one at a time, other work beside it, and a failure lets go', async () => {
    const storage = await open();
    const order: string[] = [];
    const isBeside = Promise.withResolvers<void>();
    const work = (lock: string, step: string) =>
      storage.exclusively(lock, async () => {
        order.push(`${step} begins`);
        if (step === 'first') await isBeside.promise;
        if (step === 'third') isBeside.resolve();
        order.push(`${step} ends`);
        if (step === 'first') throw new Error('failed');
      });
    const [first, second, third] = [work('a', 'first'), work('a', 'second'), work('b', 'third')];
    await expect(first).rejects.toThrow('failed');
    await Promise.all([second, third]);
    expect(order.indexOf('second begins')).toBeGreaterThan(order.indexOf('first ends'));
    expect(order.indexOf('third begins')).toBeLessThan(order.indexOf('first ends'));
  });

  test('values come back as they were: large numbers, null, bytes, any text', async () => {
    const storage = await open();
    const bytes = Buffer.from([0, 1, 255, 92, 120]);
    const text = 'ä \u{1F600} \\x41 $1 \' " ?';
    await storage.run('INSERT INTO organizations (id, slug, running_limit, created_at) VALUES ($1, $2, $3, $4)', [
      text,
      'a',
      null,
      Number.MAX_SAFE_INTEGER,
    ]);
    const row = await storage.one('SELECT id, running_limit, created_at FROM organizations WHERE slug = $1', ['a']);
    expect(row).toEqual({ id: text, running_limit: null, created_at: Number.MAX_SAFE_INTEGER });
    await storage.run(
      'INSERT INTO tokens (id, lookup, hash, organization_id, created_at) VALUES ($1, $2, $3, $4, $5)',
      ['t', bytes, bytes, text, 1],
    );
    const token = await storage.one<{ hash: Buffer }>('SELECT hash FROM tokens WHERE lookup = $1', [bytes]);
    expect(Buffer.isBuffer(token?.hash) && token.hash.equals(bytes)).toBe(true);
    expect(await storage.size_bytes()).toBeGreaterThan(1_000);
    expect(await storage.one('SELECT id FROM tokens WHERE id = $1', ['nothing'])).toBeUndefined();
  });

  test('what was written is there after another opening', async () => {
    const openAgain = await create();
    const first = await openAgain();
    await createOrganizationStore(first).create('acme', 1);
    await first[Symbol.asyncDispose]();
    const second = await openAgain();
    onTestFinished(() => second[Symbol.asyncDispose]());
    expect(await createOrganizationStore(second).findBySlug('acme')).toMatchObject({ slug: 'acme' });
  });

  test('organizations have one slug each, and limits that stay when they are not named', async () => {
    const organizations = createOrganizationStore(await open());
    const { id } = await organizations.create('acme', 1);
    await expect(organizations.create('acme', 1)).rejects.toMatchObject({ code: 'already_exists' });
    await expect(organizations.create('Acme!', 1)).rejects.toMatchObject({ code: 'invalid_request' });
    await Promise.all([
      organizations.setLimits(id, { running_limit: 2 }),
      organizations.setLimits(id, { warm_limit: 0 }),
      organizations.setLimits(id, { creation_limit: 9 }),
    ]);
    expect(await organizations.find(id)).toEqual({
      id,
      slug: 'acme',
      display_name: null,
      running_limit: 2,
      warm_limit: 0,
      creation_limit: 9,
    });
    expect(await organizations.setLimits(id, { running_limit: null })).toMatchObject({
      running_limit: null,
      warm_limit: 0,
    });
    await expect(organizations.setLimits('org_none', {})).rejects.toMatchObject({ code: 'not_found' });
  });

  describe('sprites', () => {
    test('are listed in the order of bytes, from a name and with a prefix', async () => {
      const { organization, sprites } = await openWith('b-1', 'a10', 'a2', 'a-1', 'b', 'ab', 'a');
      const list = async (prefix: string, after: string, limit: number) =>
        (await sprites.list({ organization_id: organization.id, prefix, after, limit })).map((row) => row.name);
      expect(await list('', '', 10)).toEqual(['a', 'a-1', 'a10', 'a2', 'ab', 'b', 'b-1']);
      expect(await list('', 'a-1', 2)).toEqual(['a10', 'a2']);
      expect(await list('a', '', 10)).toEqual(['a', 'a-1', 'a10', 'a2', 'ab']);
      expect(await list('a', 'a2', 10)).toEqual(['ab']);
      expect(await list('b', 'a', 10)).toEqual(['b', 'b-1']);
    });

    test('asked for by ten at once under one name are one, with one machine', async () => {
      const { storage, organization, service } = await openWith();
      const made = await Promise.allSettled(
        Array.from({ length: 10 }, () => service.create(organization, { name: 'dev-1' })),
      );
      expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      for (const each of made) {
        if (each.status === 'rejected') expect(each.reason).toMatchObject({ code: 'already_exists' });
      }
      expect(await storage.all('SELECT id FROM machines')).toHaveLength(1);
    });

    test('changed by several at once keep every change', async () => {
      const { organization, service, sprites } = await openWith('dev-1');
      for (const round of ['1', '2', '3', '4', '5']) {
        const url_settings = { auth: 'sprite' } as const;
        await Promise.all([
          service.update(organization, 'dev-1', { url_settings: { auth: 'public' } }),
          service.update(organization, 'dev-1', { url_settings, labels: [round] }),
          service.update(organization, 'dev-1', { url_settings }),
          service.update(organization, 'dev-1', { url_settings }),
        ]);
        const row = await sprites.findByName(organization.id, 'dev-1');
        expect(row?.labels).toEqual([round]);
      }
    });

    test('take their tokens, machine and ports along', async () => {
      const { storage, organization, sprites } = await openWith('dev-1');
      const sprite = await sprites.findByName(organization.id, 'dev-1');
      const sprite_id = sprite?.id ?? '';
      await createTokenStore(storage).create({ organization_id: organization.id, sprite_id }, 1);
      const notice = { id: 'n', type: 'port_opened', port: 80, address: '0.0.0.0', pid: 7, time: 't' } as const;
      await createNoticeStore(storage).append(sprite_id, [notice]);
      expect(await sprites.delete(sprite_id)).toBe(true);
      expect(await sprites.delete(sprite_id)).toBe(false);
      for (const table of ['tokens', 'machines', 'port_notices', 'sprite_ports']) {
        expect(await storage.all(`SELECT * FROM ${table}`), table).toEqual([]);
      }
    });
  });

  describe('tokens', () => {
    test('find their caller with organization, sprite and incarnation, until they end', async () => {
      const { storage, organization, machineOf } = await openWith('dev-1');
      const tokens = createTokenStore(storage);
      const callers = createCallerStore(storage);
      const { sprite_id } = await machineOf('dev-1');
      const organization_id = organization.id;
      const ofAll = await tokens.create({ organization_id, sprite_id: null, access: 'read' }, 1);
      const ofOne = await tokens.create({ organization_id, sprite_id, expires_at: 100, user_id: 'alice' }, 2);
      expect(await callers.find(ofAll.text.reveal(), 5)).toMatchObject({
        type: 'organization',
        organization: { slug: 'acme' },
        token: { access: 'read' },
      });
      await createIncarnationStore(storage).replace(sprite_id, {
        generation: 3,
        incarnation: one,
        nonces: { type: 'none' },
      });
      expect(await callers.find(ofOne.text.reveal(), 99)).toMatchObject({
        type: 'sprite',
        sprite: { id: sprite_id, name: 'dev-1', machine_state: 'stopped' },
        token: { id: ofOne.id, user_id: 'alice' },
        incarnation: { generation: 3, incarnation: one },
      });
      expect(await callers.find(ofOne.text.reveal(), 100)).toBeUndefined();
      expect(await callers.find(`${ofAll.text.reveal()}x`, 5)).toBeUndefined();
      expect((await tokens.list(organization_id)).map(({ id }) => id)).toEqual([ofAll.id, ofOne.id]);
      expect(await tokens.revoke('org_other', ofAll.id)).toBe(false);
      expect(await callers.again(ofAll.id, 5)).toMatchObject({ type: 'organization' });
      expect(await tokens.revoke(organization_id, ofAll.id)).toBe(true);
      expect(await callers.again(ofAll.id, 5)).toBeUndefined();
    });
  });

  describe('who a caller is', () => {
    async function openKept() {
      const connect = await create();
      const [storage, beside] = [await connect(), await connect()];
      onTestFinished(async () => {
        await beside[Symbol.asyncDispose]();
        await storage[Symbol.asyncDispose]();
      });
      const organization = await createOrganizationStore(storage).create('acme', 1);
      const asked: string[] = [];
      const store = createCallerStore(storage);
      const find: typeof store.find = async (text, now_ms) => {
        asked.push(text);
        return await store.find(text, now_ms);
      };
      const kept = createKeptCallers({ ...store, find }, storage);
      const make = async (expires_at: number | null = null) => {
        const made = { organization_id: organization.id, sprite_id: null, expires_at };
        const { id, text } = await createTokenStore(storage).create(made, 1);
        return { id, text: text.reveal() };
      };
      /** Whether the token is good, and whether the database was asked for it. */
      const look = async (text: string, now_ms = 5) => {
        // One look at a file is good for a turn.
        await nextTurn();
        await kept.look();
        asked.length = 0;
        const caller = kept.known(toTokenHash(text), now_ms) ?? (await kept.find(text, now_ms));
        return [caller?.token.id, asked.length > 0];
      };
      return { storage, beside, organization, kept, make, look };
    }

    test('is kept while nothing changes, and read again after any change, of this process or another one', async () => {
      const { storage, beside, organization, make, look } = await openKept();
      const [first, second] = [await make(), await make(100)];
      expect(await look(first.text)).toEqual([first.id, true]);
      expect(await look(first.text)).toEqual([first.id, false]);
      expect(await look(second.text, 99)).toEqual([second.id, true]);
      expect(await look(second.text, 99)).toEqual([second.id, false]);
      expect(await look(second.text, 100)).toEqual([undefined, true]);
      for (const [sql, display_name] of [
        [storage, 'by itself'],
        [beside, 'by another one'],
      ] as const) {
        await sql.run('UPDATE organizations SET display_name = $1', [display_name]);
        expect(await look(first.text)).toEqual([first.id, true]);
        expect(await look(first.text)).toEqual([first.id, false]);
      }
      expect(await createTokenStore(storage).revoke(organization.id, first.id)).toBe(true);
      expect(await look(first.text)).toEqual([undefined, true]);
      expect(await look(second.text, 99)).toEqual([second.id, true]);
      expect(await createTokenStore(beside).revoke(organization.id, second.id)).toBe(true);
      expect(await look(second.text, 99)).toEqual([undefined, true]);
      expect(await look('remora_org_nobody')).toEqual([undefined, true]);
      expect(await look('remora_org_nobody')).toEqual([undefined, true]);
    });

    test('is not known any more once this process has written, without a further look', async () => {
      const { storage, organization, kept, make, look } = await openKept();
      const token = await make();
      await look(token.text);
      expect(kept.known(toTokenHash(token.text), 5)?.token.id).toBe(token.id);
      await createTokenStore(storage).revoke(organization.id, token.id);
      expect(kept.known(toTokenHash(token.text), 5)).toBeUndefined();
    });

    test('is not kept from before the end of a transaction, nor answered while one is open', async () => {
      const { storage, organization, kept, make, look } = await openKept();
      const token = await make();
      await look(token.text);
      const during = Promise.withResolvers<void>();
      const revoked = storage.transaction(async (sql) => {
        await createTokenStore(sql).revoke(organization.id, token.id);
        await during.promise;
      });
      const found = kept.find(token.text, 5);
      // SQLite has one connection, and what is asked beside the transaction waits for its end.
      if (name === 'SQLite') expect(kept.known(toTokenHash(token.text), 5)).toBeUndefined();
      else expect((await found)?.token.id).toBe(token.id);
      during.resolve();
      await revoked;
      if (name === 'SQLite') expect(await found).toBeUndefined();
      expect(await look(token.text)).toEqual([undefined, true]);
      const back = await make();
      const undone = storage.transaction(async (sql) => {
        await createTokenStore(sql).revoke(organization.id, back.id);
        throw new Error('undone');
      });
      await expect(undone).rejects.toThrow('undone');
      expect(await look(back.text)).toEqual([back.id, true]);
      expect(await look(back.text)).toEqual([back.id, false]);
    });
  });

  describe('connectors', () => {
    test('are found within their organization, listed in the order of bytes, and one by id', async () => {
      const { storage, organization } = await openWith();
      const connectors = createConnectorStore(storage);
      for (const id of ['c-b', 'c_a', 'cA', 'ca'])
        expect(await connectors.insert(toConnector(organization.id, id), 1)).toBe(true);
      expect(await connectors.insert(toConnector(organization.id, 'ca'), 1)).toBe(false);
      expect((await connectors.list(organization.id, undefined)).map(({ id }) => id)).toEqual([
        'c-b',
        'cA',
        'c_a',
        'ca',
      ]);
      expect(await connectors.list(organization.id, 'github')).toEqual([]);
      const found = await connectors.find(organization.id, 'ca');
      expect(found).toMatchObject({ credential_version: 1, scopes: null, inserted_at: 1 });
      if (found === undefined) throw new Error('not there');
      expect(vault.open(toConnectorPlace(found), found.closed).reveal()).toBe('secret of ca');
      expect(await connectors.find('org_other', 'ca')).toBeUndefined();
      const access_policy = '{"allow_all":true}';
      const closed = vault.rewrap(toConnectorPlace(found), found.closed, toConnectorPlace({ ...found, access_policy }));
      if (closed === undefined) throw new Error('it does not open');
      expect(await connectors.setPolicy(found, { access_policy, closed }, 2)).toBe(true);
      expect(await connectors.setPolicy(found, { access_policy, closed }, 3)).toBe(false);
      expect(await connectors.find(organization.id, 'ca')).toMatchObject({
        access_policy,
        updated_at: 2,
      });
      expect(await connectors.delete(organization.id, 'ca')).toBe(true);
      expect(await connectors.delete(organization.id, 'ca')).toBe(false);
      expect(await connectors.listKeyIds()).toEqual([vault.currentKeyId]);
    });

    test('take a new credential only in place of the one that was read', async () => {
      const { storage, organization } = await openWith();
      const connectors = createConnectorStore(storage);
      await connectors.insert(toConnector(organization.id, 'c'), 1);
      const row = await connectors.findAccount(organization.id, 'openai', 'account');
      if (row === undefined) throw new Error('not there');
      const term = { token_expires_at: 5_000_000_000_000, token_lifetime_ms: 1 };
      const change = { closed: row.closed, scopes: 'a', ...term };
      const written = await Promise.all(Array.from({ length: 8 }, () => connectors.setCredential(row, change, 2)));
      expect(written.filter(Boolean)).toHaveLength(1);
      expect(await connectors.find(organization.id, 'c')).toMatchObject({ credential_version: 2, scopes: 'a' });
      await connectors.endAuthorization(row, 3);
      expect(await connectors.find(organization.id, 'c')).toMatchObject({ authorization_ended_at: null });
    });

    test('are closed with another key in batches', async () => {
      const { storage, organization } = await openWith();
      const connectors = createConnectorStore(storage);
      for (let index = 0; index < 150; index += 1)
        await connectors.insert(toConnector(organization.id, `c-${index}`), 1);
      const both = createVault([new Secret('cd'.repeat(32)), new Secret('ab'.repeat(32))]);
      expect(await rotateKeys([createConnectorSecrets(connectors)], both)).toEqual({ rotated: 150, unreadable: [] });
      expect(await connectors.listKeyIds()).toEqual([both.currentKeyId]);
      expect(await rotateKeys([createConnectorSecrets(connectors)], both)).toEqual({ rotated: 0, unreadable: [] });
    });
  });

  test('a state is taken once by ten at once, means nothing elsewhere, expires, and has a cap', async () => {
    const { storage, organization } = await openWith();
    const states = createStateStore(storage);
    const key = { organization_id: organization.id, provider: 'hub', state: 's' };
    const begun = { redirect_uri: 'https://a', scopes: '' };
    const pending = { ...begun, closed: vault.close(toStatePlace(key, begun), new Secret('verifier')) };
    const term = { token_id: 'tok_1', now_ms: 0, expires_at: 10, cap: 3, tokenCap: 2 };
    const at = (now_ms: number, redirect_uri?: string) => ({ redirect_uri, now_ms });
    const insert = (state: string, changed: Partial<typeof term> = {}) =>
      states.insert({ ...key, state }, pending, { ...term, ...changed });
    expect(await insert('s')).toBe('stored');
    expect(await insert('s')).toBe('taken');
    const many = await Promise.all(Array.from({ length: 6 }, (_, index) => insert(`x${index}`)));
    expect(many.sort()).toEqual([...Array.from({ length: 5 }, () => 'full_of_token'), 'stored']);
    expect([await insert('z1', { token_id: 'tok_2' }), await insert('z2', { token_id: 'tok_2' })]).toEqual([
      'stored',
      'full',
    ]);
    expect(await states.consume({ ...key, provider: 'other' }, at(1))).toBeUndefined();
    expect(await states.consume(key, at(10))).toBeUndefined();
    expect(await states.consume(key, at(9, 'https://b'))).toBe('other_redirect_uri');
    const taken = await Promise.all(Array.from({ length: 10 }, () => states.consume(key, at(9, 'https://a'))));
    expect(taken.filter((found) => found !== undefined)).toEqual([pending]);
    expect(await insert('y', { now_ms: 10, expires_at: 20 })).toBe('stored');
    expect(await storage.all('SELECT lookup FROM oauth_states')).toHaveLength(1);
  });

  test('notices are kept once each, in order, up to a cap, with the ports that are open', async () => {
    const { storage, machineOf } = await openWith('dev-1');
    const { sprite_id } = await machineOf('dev-1');
    const notices = createNoticeStore(storage, 3);
    const notice = (id: string, type: 'port_opened' | 'port_closed', port: number) =>
      ({ id, type, port, address: '0.0.0.0', pid: 4_000_000_000, time: '2026-01-01T00:00:00.000Z' }) as const;
    await notices.append(sprite_id, [notice('1', 'port_opened', 80), notice('2', 'port_opened', 22)]);
    await Promise.all([
      notices.append(sprite_id, [notice('2', 'port_opened', 22), notice('3', 'port_closed', 80)]),
      notices.append(sprite_id, [notice('2', 'port_opened', 22), notice('3', 'port_closed', 80)]),
    ]);
    expect((await notices.listOpen(sprite_id)).map(({ port, pid }) => [port, pid])).toEqual([[22, 4_000_000_000]]);
    await notices.append(sprite_id, [notice('4', 'port_opened', 9), notice('5', 'port_opened', 8)]);
    const kept = await storage.all<{ id: string }>('SELECT id FROM port_notices ORDER BY sequence');
    expect(kept.map(({ id }) => id)).toEqual(['3', '4', '5']);
    expect((await notices.listOpen(sprite_id)).map(({ port }) => port)).toEqual([8, 9, 22]);
  });

  describe('machines', () => {
    test('leave the state that was read only once', async () => {
      const { machines, machineOf } = await openWith('dev-1');
      const { id } = await machineOf('dev-1');
      const moved = await Promise.all(Array.from({ length: 8 }, () => machines.move(id, 'stopped', 'starting', 2)));
      expect(moved.filter(Boolean)).toHaveLength(1);
      expect((await machines.find(id))?.state).toBe('starting');
    });

    test('belong to the host that claims them first, until it is forgotten', async () => {
      const { storage, machines, machineOf } = await openWith('dev-1', 'dev-2');
      const { id } = await machineOf('dev-1');
      const claims = await Promise.all(['h1', 'h2', 'h3'].map((host) => machines.claim(id, host)));
      expect(claims.filter(Boolean)).toHaveLength(1);
      const { host } = await machineOf('dev-1');
      await machines.move(id, 'stopped', 'running', 2);
      expect((await machines.listNotStopped(host ?? '')).map((row) => row.id)).toEqual([id]);
      expect(await machines.listNotStopped('h9')).toEqual([]);
      const hosts = createHostStore(storage);
      expect(await hosts.list()).toMatchObject([
        { host, machines: 1, address: null, version: null, seen_at: null, resident_mb: null },
      ]);
      await hosts.forget(host ?? '', 1);
      expect(await machines.find(id)).toMatchObject({ host: null, state: 'stopped' });
      expect(await hosts.list()).toEqual([]);
      expect(await machines.claim(id, 'h9')).toBe(true);
    });

    test('of an organization do not pass its limit, however many are started at once', async () => {
      const { storage, organization, machines, machineOf } = await openWith('a', 'b', 'c', 'd', 'e');
      await createOrganizationStore(storage).setLimits(organization.id, { running_limit: 2, warm_limit: 1 });
      const rows = await Promise.all(['a', 'b', 'c', 'd', 'e'].map(machineOf));
      const begun = await Promise.allSettled(
        rows.map((row) =>
          storage.transaction(async (sql) => {
            await createMachineLimits(sql).checkRunning(row);
            await createMachineStore(sql).move(row.id, 'stopped', 'running', 2);
          }, 'places'),
        ),
      );
      expect(begun.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
      expect(await machines.count(organization.id, ['running', 'starting'])).toBe(2);
    });

    test('are served in their newest incarnation, of two with the same number the one that came first', async () => {
      const { storage, machineOf } = await openWith('dev-1', 'dev-2');
      const { sprite_id } = await machineOf('dev-1');
      const store = createIncarnationStore(storage);
      const fencing = createFencing(store, createChanges());
      const admitted = await Promise.allSettled([
        fencing.admit(sprite_id, undefined, { generation: 3, incarnation: one }),
        fencing.admit(sprite_id, undefined, { generation: 3, incarnation: other }),
      ]);
      expect(admitted.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
      // What this process read is old by now: another one has admitted a newer incarnation.
      const known = (await store.load(sprite_id))?.known;
      const nonces = { type: 'none' } as const;
      await store.replace(sprite_id, { generation: 7, incarnation: one, nonces });
      await expect(fencing.admit(sprite_id, known, { generation: 5, incarnation: one })).rejects.toMatchObject({
        code: 'rewound',
        details: { generation: 7 },
      });
      expect(await store.hasSeveral()).toBe(false);
      await store.replace((await machineOf('dev-2')).sprite_id, { generation: 1, incarnation: one, nonces });
      expect(await store.hasSeveral()).toBe(true);
      await store.forget(sprite_id);
      expect((await store.load(sprite_id))?.known).toBeUndefined();
    });
  });

  test('of two machines with equal reports the first that comes with its nonce is served', async () => {
    const { storage, machineOf } = await openWith('dev-1');
    const { sprite_id } = await machineOf('dev-1');
    const store = createIncarnationStore(storage);
    const fencing = createFencing(store, createChanges());
    const claimed = { generation: 3, incarnation: one };
    const report = { claimed, isNewInstallation: false, isExternal: false, now_ms: 1 };
    const answers = await Promise.all(Array.from({ length: 4 }, () => fencing.report(sprite_id, report)));
    const nonces = answers.map(({ nonce = '' }) => nonce);
    expect(new Set(nonces).size).toBe(4);
    const calls = await Promise.allSettled(
      nonces.map(async (nonce) => {
        await fencing.admit(sprite_id, (await store.load(sprite_id))?.known, { ...claimed, nonce });
        return nonce;
      }),
    );
    expect(calls.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(JSON.stringify(await storage.all('SELECT * FROM machines'))).not.toMatch(new RegExp(nonces.join('|')));
  });

  test('usage that several processes add at once is summed, and listed by day and connector', async () => {
    const { storage, organization } = await openWith();
    const zero = { calls: 0, refused: 0, request_bytes: 0, response_bytes: 0, input_tokens: 0, output_tokens: 0 };
    const of = (day: string, connector_id: string, sprite: string) => ({
      ...{ organization_id: organization.id, day, connector_id, sprite, provider: 'openai' },
      ...{ ...zero, calls: 1, response_bytes: 3_000_000_000 },
    });
    const entries = [of('2026-01-02', 'c2', 'a'), of('2026-01-01', 'c1', 'a'), of('2026-01-01', 'c1', 'b')];
    const usage = createUsageStore(storage);
    const other = await createOrganizationStore(storage).create('other', 1);
    const turns = Array.from({ length: 4 }, (_, turn) => usage.add(turn % 2 === 0 ? entries : entries.toReversed()));
    await Promise.all(turns);
    await usage.add([{ ...of('2026-01-01', 'c1', 'a'), organization_id: other.id }]);
    const all = { organization_id: organization.id, since: '2026-01-01', until: '2026-01-02' };
    const none = { connector_id: undefined, sprite: undefined };
    const sum = (day: string, connector_id: string, calls: number) => ({
      ...{ day, connector_id, provider: 'openai' },
      ...{ ...zero, calls, response_bytes: calls * 3_000_000_000 },
    });
    expect(await usage.list({ ...all, ...none })).toEqual([sum('2026-01-01', 'c1', 8), sum('2026-01-02', 'c2', 4)]);
    expect(await usage.list({ ...all, ...none, sprite: 'b' })).toEqual([sum('2026-01-01', 'c1', 4)]);
    expect(await usage.list({ ...all, ...none, connector_id: 'c2' })).toEqual([sum('2026-01-02', 'c2', 4)]);
    expect(await usage.list({ ...all, ...none, until: '2026-01-01', connector_id: 'c2' })).toEqual([]);
    // More than one statement takes, and one row twice: the connector was another provider's before.
    const many = Array.from({ length: 130 }, (_, index) => of('2026-01-03', 'c3', `s${index}`));
    const twice = { ...of('2026-01-03', 'c3', 's7'), provider: 'zzz' };
    await Promise.all([usage.add([...many, twice]), usage.add([twice, ...many.toReversed()])]);
    const third = { ...all, since: '2026-01-03', until: '2026-01-03' };
    expect(await usage.list({ ...third, ...none })).toEqual([sum('2026-01-03', 'c3', 262)]);
    // Which of the two providers it is named after is left to who writes first.
    expect(await usage.list({ ...third, ...none, sprite: 's7' })).toMatchObject([{ connector_id: 'c3', calls: 4 }]);
    expect(await usage.list({ ...third, ...none, sprite: 's129' })).toEqual([sum('2026-01-03', 'c3', 2)]);
  });

  test('the network policy of a sprite is replaced by one of those who have read the same', async () => {
    const { storage, machineOf } = await openWith('a', 'b');
    const policies = createNetworkPolicyStore(storage);
    const [{ sprite_id }, { sprite_id: other_id }] = [await machineOf('a'), await machineOf('b')];
    const rulesOf = (domain: string) => [{ action: 'allow' as const, domain }];
    const replace = (revision: number, ...domains: readonly string[]) =>
      Promise.all(domains.map((domain) => policies.replace(sprite_id, { rules: rulesOf(domain), revision }, 1)));
    expect(await policies.find(sprite_id)).toBeUndefined();
    for (const revision of [0, 1, 2]) {
      const domains = ['a', 'b', 'c'].map((name) => `${name}${revision}.example`);
      const taken = await replace(revision, ...domains);
      expect(taken.filter((isTaken) => isTaken)).toEqual([true]);
      const rules = rulesOf(domains[taken.indexOf(true)] ?? '');
      expect(await policies.find(sprite_id)).toEqual({ rules, revision: revision + 1 });
    }
    expect(await replace(1, 'late.example')).toEqual([false]);
    expect(await policies.find(other_id)).toBeUndefined();
  });

  test('a rotation is refused while a platform runs without the key, and not when it has ended', async () => {
    const storage = await open();
    await writeRunningKeys(storage, 'h1', ['old', 'new']);
    await writeRunningKeys(storage, 'h2', ['old']);
    await expect(checkRunningPlatformsHave(storage, 'new')).rejects.toMatchObject({
      code: 'conflict',
      details: { host: 'h2' },
    });
    await checkRunningPlatformsHave(storage, 'old');
    await forgetRunningKeys(storage, 'h2');
    await checkRunningPlatformsHave(storage, 'new');
  });
});
