// The token that the platform makes for a machine: what its agent needs, for this machine and its sprite, and nothing else.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Operation } from '../../src/contract/operation.ts';
import { platformOperations } from '../../src/contract/platform-operations.ts';
import { Secret } from '../../src/core/secret.ts';
import { machineCommand, openTestPlatform } from '../support/open-platform.ts';

const claimed = { generation: 0, incarnation: 'ab'.repeat(16) };
const report = { ...claimed, reason: 'start', gap_ms: null, wall_skew_ms: null, holds: [] };
const notice = { id: 'n1', type: 'port_opened', port: 80, address: 'x', pid: 1, time: '2025-01-01T00:00:00.000Z' };
/** Bodies with which an operation is asked, where it needs one. */
const bodies: Readonly<Record<string, unknown>> = {
  reportResume: report,
  postPortNotices: { notices: [notice] },
  setMachineMetadataKey: { value: 'primary' },
};

async function openMachines() {
  const platform = await openTestPlatform({ agentCommand: machineCommand() });
  const machines = [];
  for (const name of ['one', 'two']) {
    await platform.admin.createSprite({ organization: 'acme', name });
    const sprite = { organization: 'acme', sprite: name };
    await platform.admin.startMachine(sprite);
    const machine = await platform.admin.readMachine(sprite);
    machines.push({ ...machine, name, token: new Secret(readFileSync(join(machine.dir, 'token'), 'utf8')) });
  }
  const [one, two] = machines;
  if (one === undefined || two === undefined) throw new Error('there are no machines');
  return { platform, one, two };
}

/** The operations that the token of a machine opens and that name a machine or a sprite. */
const named = Object.entries<Operation>(platformOperations).filter(
  ([, { access, path }]) => (access === 'agent' || access === 'every') && /\{(machine_id|name)\}/.test(path),
);

test('it opens nothing of another machine, nor of its sprite', async () => {
  const { platform, one, two } = await openMachines();
  expect(named.length).toBeGreaterThan(7);
  for (const [id, { method, path, upgrade }] of named) {
    if (upgrade !== undefined) continue;
    const given: Readonly<Record<string, string>> = { app_name: 'acme', machine_id: two.id, name: two.name, id: 'v0' };
    const target = path.replaceAll(/\{(\w+)\}/g, (_, field: string) => given[field] ?? 'x');
    const body = bodies[id];
    const { status, json } = await platform.call({ method, path: target, token: one.token, body });
    expect([id, status, json.error]).toEqual([id, 403, 'forbidden']);
  }
});

test('it reports, tells of ports and moves its own machine, and is listed as of the machine', async () => {
  const { platform, one } = await openMachines();
  expect(one.token.reveal()).toMatch(/^remora_machine_/);
  const call = (method: string, path: string, body?: unknown) =>
    platform.call({ method, path, token: one.token, body });
  const at = `/v1/apps/acme/machines/${one.id}`;
  expect((await call('GET', at)).json.sprite).toBe('one');
  expect((await call('GET', `${at}/wait?state=running`)).status).toBe(200);
  expect((await call('POST', `${at}/metadata/role`, { value: 'primary' })).status).toBe(204);
  expect((await call('POST', `${at}/resumed`, { ...report, generation: 1 })).status).toBe(200);
  expect((await call('POST', '/v1/sprites/one/ports/notices', bodies.postPortNotices)).json.accepted).toBe(1);
  expect((await call('GET', '/v1/sprites/one')).json.machine_id).toBe(one.id);
  const { tokens } = (await platform.call({ path: '/v1/tokens' })).json;
  expect(tokens.find(({ machine }: { machine: string }) => machine === one.id)).toMatchObject({ sprite: 'one' });
  expect((await call('POST', `${at}/stop`)).status).toBe(200);
});

test('a copy of the machine has no more with the token than before, and an earlier instance has nothing', async () => {
  const { platform, one } = await openMachines();
  const at = `/v1/apps/acme/machines/${one.id}`;
  const headers = { 'remora-generation': '0', 'remora-incarnation': 'ef'.repeat(16) };
  const copy = await platform.call({ path: at, token: one.token, headers });
  expect([copy.status, copy.json.error]).toEqual([409, 'incarnation_conflict']);
  const name = { organization: 'acme', sprite: 'one' };
  await platform.admin.stopMachine(name);
  await platform.admin.startMachine(name);
  expect((await platform.call({ path: at, token: one.token })).status).toBe(401);
});

test('a connector whose policy names the sprite serves its machine, and no other connector does', async () => {
  const { platform, one, two } = await openMachines();
  const made = [];
  for (const { name } of [one, two]) {
    const body = { provider: 'openai', api_key: 'sk-1', access_policy: { name_prefix: name } };
    const answer = await platform.call({ method: 'POST', path: '/v1/oauth/connections/api_key', body });
    made.push(answer.json.connection?.id ?? answer.text);
  }
  const list = (await platform.call({ path: '/v1/oauth/connections', token: one.token })).json;
  expect(list.connections.map(({ id }: { id: string }) => id)).toEqual([made[0]]);
  expect(list.denied.map(({ id }: { id: string }) => id)).toEqual([made[1]]);
  const path = `/v1/gateway/openai/${made[1]}/v1/models`;
  expect((await platform.call({ path, token: one.token })).json.error).toBe('connection_denied');
});
