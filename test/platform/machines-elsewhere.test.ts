// Two platform processes on one PostgreSQL database: a call about a machine or a volume is answered wherever it comes in.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LEASE_HEADER } from '../../src/contract/machine-leases.ts';
import { openFreePort } from '../support/free-port.ts';
import { endLeftMachines } from '../support/left-machines.ts';
import { openPlatformPair } from '../support/platform-pair.ts';
import { isWithoutPostgres, openPostgresServer, type PostgresServer } from '../support/postgres-server.ts';
import { runHere } from '../support/run-here.ts';

describe.skipIf(isWithoutPostgres())('a machine of another platform process', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await openPostgresServer();
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
  });

  test('is read, changed, moved and deleted here', async () => {
    const [port, otherPort] = [await openFreePort(), await openFreePort()];
    const toWords = (at: number) => ['--port', String(at), '--host-address', `http://127.0.0.1:${at}`];
    const pair = await openPlatformPair(await server.createDatabase(), [], [toWords(port), toWords(otherPort)]);
    const [owner, guest] = pair.platforms;
    const ask = (method: string, path: string, body?: unknown, headers = {}) =>
      guest.call({ method, path: `/v1/apps/acme${path}`, body, headers });
    const at = async (path: string) => (await ask('GET', path)).json;

    const made = await owner.call({ method: 'POST', path: '/v1/apps/acme/volumes', body: { name: 'data' } });
    const volume = made.json.id;
    const config = { mounts: [{ volume, path: '/data' }] };
    // The volume is at the other one, and so is the machine.
    const created = await ask('POST', '/machines', { config, lease_ttl: 60 });
    expect(created.status).toBe(200);
    const { id, nonce } = created.json;
    const machine = `/machines/${id}`;
    const held = { [LEASE_HEADER]: nonce };
    expect(await at(`/volumes/${volume}`)).toMatchObject({ attached_machine_id: id });
    expect((await ask('GET', `${machine}/wait?state=started`)).json).toEqual({ ok: true });
    expect(await ask('POST', `${machine}/stop`)).toMatchObject({ status: 409, json: { error: 'conflict' } });
    expect((await ask('POST', `${machine}/suspend`, undefined, held)).json).toEqual({ ok: true });
    expect((await ask('GET', `${machine}/wait?state=suspended`)).json).toEqual({ ok: true });
    expect((await ask('POST', `${machine}/start`, undefined, held)).json).toMatchObject({
      previous_state: 'suspended',
    });
    expect((await ask('DELETE', `${machine}/lease`, undefined, held)).status).toBe(200);
    expect((await ask('POST', `${machine}/restart`)).json).toEqual({ ok: true });
    expect((await ask('POST', machine, { config: { ...config, env: { A: '1' } } })).json.config.env).toEqual({
      A: '1',
    });
    expect((await ask('PUT', `${machine}/metadata/a`, { value: 'b' })).status).toBe(204);
    expect((await ask('POST', `${machine}/cordon`)).status).toBe(200);
    expect((await ask('GET', `${machine}/wait?state=started`)).json).toEqual({ ok: true });
    expect(await ask('DELETE', machine)).toMatchObject({ status: 409, json: { error: 'invalid_state' } });
    expect((await ask('PUT', `/volumes/${volume}/extend`, { size_gb: 3 })).json).toMatchObject({
      volume: { size_gb: 3 },
    });
    expect((await ask('DELETE', `${machine}?force=true`)).json).toEqual({ ok: true });
    expect((await ask('DELETE', `/volumes/${volume}`)).status).toBe(200);
    expect(await at('/machines')).toEqual([]);
  });

  test('that is gone for good: a suspended machine starts here without its memory, and says that it has moved', async () => {
    const database = await server.createDatabase();
    const pair = await openPlatformPair(database);
    const [owner, guest] = pair.platforms;
    for (const { dir } of [owner, guest]) endLeftMachines(join(dir, 'p'));
    const made = await owner.call({ method: 'POST', path: '/v1/apps/acme/machines', body: { config: {} } });
    const path = `/v1/apps/acme/machines/${made.json.id}`;
    const wait = (state: string) => owner.call({ path: `${path}/wait?state=${state}` });
    expect((await wait('started')).status).toBe(200);
    expect((await owner.call({ method: 'POST', path: `${path}/suspend` })).status).toBe(200);
    expect((await wait('suspended')).status).toBe(200);
    owner.child.process.kill('SIGKILL');
    await owner.child.ended;
    const gone = readFileSync(join(owner.dir, 'p', 'host-id'), 'utf8').trim();
    const own = readFileSync(join(guest.dir, 'p', 'host-id'), 'utf8').trim();
    const run = (...words: string[]) => runHere(['host', ...words, '--dir', join(guest.dir, 'p')]);
    expect(await run('forget', gone)).toMatchObject({ code: 0 });
    expect((await guest.call({ path })).json).toMatchObject({ state: 'suspended' });
    expect((await guest.call({ method: 'POST', path: `${path}/start` })).json).toEqual({
      previous_state: 'suspended',
      migrated: true,
      new_host: own,
      cold_start: 'migrate',
    });
    const { json } = await guest.call({ path: `${path}/events` });
    const events = json.map(({ type, status, cause }: Readonly<Record<string, string>>) => [type, status, cause]);
    expect(events.toReversed().slice(-3)).toEqual([
      ['discard', 'suspended', 'migrate'],
      ['start', 'starting', 'migrate'],
      ['started', 'running', undefined],
    ]);
    // A drain of the host that it runs on now, by name.
    expect(await run('drain', '--host', own)).toMatchObject({ code: 0 });
    expect((await guest.call({ path })).json).toMatchObject({ state: 'stopped' });
    const [newest, stop] = (await guest.call({ path: `${path}/events` })).json;
    expect([newest, stop]).toMatchObject([
      { type: 'exit' },
      { type: 'stop', cause: 'maintenance', source: 'platform' },
    ]);
    expect(await run('undrain', '--host', own)).toMatchObject({ code: 0 });
    expect((await guest.call({ path: `${path}/wait?state=started` })).status).toBe(200);
  });
});
