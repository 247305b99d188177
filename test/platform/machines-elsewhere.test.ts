// Two platform processes on one PostgreSQL database: a call about a machine or a volume is answered wherever it comes in.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LEASE_HEADER } from '../../src/contract/machine-leases.ts';
import { openFreePort } from '../support/free-port.ts';
import { openPlatformPair } from '../support/platform-pair.ts';
import { isWithoutPostgres, openPostgresServer, type PostgresServer } from '../support/postgres-server.ts';

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
    expect(await ask('DELETE', machine)).toMatchObject({ status: 409, json: { error: 'invalid_state' } });
    expect((await ask('PUT', `/volumes/${volume}/extend`, { size_gb: 3 })).json).toMatchObject({
      volume: { size_gb: 3 },
    });
    expect((await ask('DELETE', `${machine}?force=true`)).json).toEqual({ ok: true });
    expect((await ask('DELETE', `/volumes/${volume}`)).status).toBe(200);
    expect(await at('/machines')).toEqual([]);
  });
});
