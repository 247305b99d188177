// Platform processes as hosts of machines: whose a machine is, how a host ends, and what its operator does about one that is gone.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openPostgresStorage } from '../../src/platform/storage/postgres-storage.ts';
import { TEST_KEY } from '../support/open-platform.ts';
import { openPlatformPair, type PairedPlatform } from '../support/platform-pair.ts';
import { isWithoutPostgres, openPostgresServer, type PostgresServer } from '../support/postgres-server.ts';
import { runRemora } from '../support/run-remora.ts';
import { tempDir } from '../support/temp-dir.ts';

function toStatuses(answers: readonly { readonly status: number }[]): number[] {
  return answers.map(({ status }) => status).sort((a, b) => a - b);
}

describe.skipIf(isWithoutPostgres())('hosts on one database', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await openPostgresServer();
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
  });

  test('leave the machines of each other alone, share the limits, and say whose a machine is', async () => {
    const database = await server.createDatabase();
    const pair = await openPlatformPair(database);
    for (const name of ['dev-1', 'dev-2']) {
      await pair.platforms[0].call({ method: 'POST', path: '/v1/sprites', body: { name } });
    }
    await using offline = await pair.openAdmin();
    await offline.admin.setLimits('acme', { running_limit: 1 });
    await using storage = await openPostgresStorage(database);
    const ids = await storage.all<{ id: string }>('SELECT id FROM machines ORDER BY name');
    const [first = '', second = ''] = ids.map(({ id }) => `/v1/apps/acme/machines/${id}`);
    const [one, other] = pair.platforms;
    const start = (platform: PairedPlatform, path: string) => platform.call({ method: 'POST', path: `${path}/start` });
    const begun = await Promise.all([start(one, first), start(other, second)]);
    expect(toStatuses(begun)).toEqual([200, 429]);
    const isFirst = begun[0]?.status === 200;
    const [machine, idle, name] = isFirst ? [first, second, 'dev-1'] : [second, first, 'dev-2'];
    const [owner, guest] = isFirst ? [one, other] : [other, one];
    const state = async (platform: PairedPlatform) => (await platform.call({ path: machine })).json.state;

    expect(await state(guest)).toBe('running');
    const refused = [
      { method: 'POST', path: `${machine}/start` },
      { method: 'POST', path: `${machine}/stop` },
      { method: 'POST', path: `${machine}/suspend` },
      { path: `${machine}/wait?state=stopped&timeout=1` },
      { method: 'DELETE', path: `/v1/sprites/${name}` },
    ];
    for (const call of refused) {
      const answer = await guest.call(call);
      expect([call.path, answer.status, answer.json.error]).toEqual([call.path, 421, 'other_host']);
      expect(answer.json.details.host).toMatch(/^[0-9a-f]{16}$/);
    }
    guest.child.process.kill('SIGTERM');
    expect(await guest.child.ended).toBe(0);
    const again = await pair.start(guest.dir);
    expect([await state(owner), await state(again)]).toEqual(['running', 'running']);
    expect((await start(again, idle)).status).toBe(429);
    expect((await owner.call({ method: 'POST', path: `${machine}/stop` })).status).toBe(200);
    expect((await owner.call({ path: `${machine}/wait?state=stopped&timeout=30` })).status).toBe(200);
    expect((await start(again, idle)).status).toBe(200);
    expect((await again.call({ method: 'DELETE', path: `/v1/sprites/${name}` })).status).toBe(421);
    expect((await owner.call({ method: 'DELETE', path: `/v1/sprites/${name}` })).status).toBe(204);
    for (const { child } of [owner, again]) child.process.kill('SIGTERM');
    expect(await Promise.all([owner.child.ended, again.child.ended])).toEqual([0, 0]);
    expect(await storage.all("SELECT id FROM machines WHERE state <> 'stopped'")).toEqual([]);
  });

  test('end well, and then a rotation needs no key of theirs', async () => {
    const pair = await openPlatformPair(await server.createDatabase());
    await using offline = await pair.openAdmin();
    expect(await offline.listHosts()).toHaveLength(2);
    for (const { child } of pair.platforms) {
      child.process.kill('SIGTERM');
      expect(await child.ended).toBe(0);
    }
    expect(await offline.listHosts()).toEqual([]);
  });

  describe('the command line', () => {
    test('gives up platforms that are gone for good, whose keys held up a rotation', async () => {
      const database = await server.createDatabase();
      const pair = await openPlatformPair(database);
      const keyFile = join(tempDir(), 'keys');
      writeFileSync(keyFile, `${'cd'.repeat(32)}\n${TEST_KEY.reveal()}\n`, { mode: 0o600 });
      const env = { REMORA_DATABASE_URL: database.reveal() };
      const run = (...words: string[]) =>
        runRemora(['platform', ...words, '--key-file', keyFile, '--dir', tempDir()], { env });
      expect(await run('rotate')).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('runs here without the vault key'),
      });
      for (const { child } of pair.platforms) {
        child.process.kill('SIGKILL');
        await child.ended;
      }
      const listed = (await run('host', 'list')).stdout.trim().split('\n').slice(1);
      const hosts = listed.map((line) => line.split(/\s+/)[0] ?? '');
      expect(hosts.sort()).toEqual(
        pair.platforms.map(({ dir }) => readFileSync(join(dir, 'p', 'host-id'), 'utf8').trim()).sort(),
      );
      expect((await run('rotate')).code).toBe(1);
      for (const host of hosts) expect(await run('host', 'forget', host)).toMatchObject({ code: 0 });
      expect(await run('host', 'forget', hosts[0] ?? '')).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('no host'),
      });
      expect(await run('rotate')).toMatchObject({ code: 0, stdout: expect.stringContaining('0 credentials') });
      expect(await run('host', 'nonsense')).toMatchObject({ code: 2 });
    });

    test('keeps a password out of everything that it says, and names pg_dump', async () => {
      const dir = tempDir();
      const run = (address: string, ...words: string[]) =>
        runRemora(['platform', ...words, '--dir', dir], {
          env: { REMORA_DATABASE_URL: address, REMORA_PLATFORM_KEY: 'ab'.repeat(32) },
        });
      for (const address of [
        'postgres://u:hunter2@127.0.0.1:1/db',
        'postgres://u:hunter2@[broken/db',
        'mysql://u:hunter2@127.0.0.1/db',
        'postgres://u:hunter2@/db?host=/nowhere',
      ]) {
        const { code, stdout, stderr } = await run(address, 'organization', 'list');
        expect([address, code]).toEqual([address, 1]);
        expect(stdout + stderr).not.toContain('hunter2');
        expect(stderr).toMatch(/database/);
        if (address.includes(':1/')) expect(stderr).toMatch(/ECONNREFUSED/);
      }
      const backup = await run('postgres://u:hunter2@127.0.0.1:1/db', 'backup', 'copy.db');
      expect([backup.code, backup.stderr]).toEqual([2, expect.stringContaining('pg_dump')]);
    });
  });
});
