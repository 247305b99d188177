// Why a machine is awake, asked at a platform process that does not have it: the one that has it answers.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openDoorPair } from '../../support/connected-pair.ts';
import { eventually } from '../../support/eventually.ts';
import { isWithoutPostgres, openPostgresServer, type PostgresServer } from '../../support/postgres-server.ts';

describe.skipIf(isWithoutPostgres())('two platforms on one database', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await openPostgresServer();
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
  });

  test('both say the same, because the platform that has the machine asks its agent', async () => {
    const { one, other } = await openDoorPair(await server.createDatabase());
    const made = await one.call({ method: 'POST', path: '/v1/sprites', body: { name: 'dev-1' } });
    const path = `/v1/apps/acme/machines/${made.json.machine_id}`;
    expect((await one.call({ method: 'POST', path: `${path}/start` })).status).toBe(200);
    const kinds = async (platform: typeof one): Promise<string | undefined> => {
      const { status, json } = await platform.call({ path: `${path}/idle` });
      // One who asks too often has to wait.
      if (status === 429) return undefined;
      expect([status, json.state]).toEqual([200, 'running']);
      return json.kept_awake_by.map(({ kind, owner }: { kind: string; owner: string }) => `${kind} ${owner}`).join();
    };
    // Its agent connects to the first one only.
    await eventually(async () => (await kinds(one)) === 'setting --sprite-idle');
    expect(await eventually(() => kinds(other))).toBe('setting --sprite-idle');
    expect((await one.call({ method: 'POST', path: `${path}/stop` })).status).toBe(200);
    expect((await one.call({ path: `${path}/wait?state=stopped` })).status).toBe(200);
  });
});
