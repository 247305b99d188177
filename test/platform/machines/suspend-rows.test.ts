// Suspend and Replication, its tables of machines: each row of the reference page that is done, by its name, through the real door.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { suspendRows } from '../../../src/cli/docs/suspend-rows.ts';
import type { MachineConfig } from '../../../src/contract/machine-config.ts';
import { openSqliteStorage } from '../../../src/platform/storage/sqlite-storage.ts';
import { openAgentMachine } from '../../support/agent-machine.ts';
import { openOnce } from '../../support/at-end.ts';
import { hasTest } from '../../support/has-test.ts';
import { loudly } from '../../support/loudly.ts';
import { machineOf } from '../../support/machine-of.ts';
import { machineCommand, openTestPlatform } from '../../support/open-platform.ts';

const opened = openOnce(() => openTestPlatform({ agentCommand: machineCommand() }));
let made = 0;

async function openRunning(config?: MachineConfig) {
  made += 1;
  const machine = await machineOf(opened(), `row-${made}`, config);
  expect((await machine.post('start')).status).toBe(200);
  return machine;
}

/** The conditions that a suspend fails; undefined when it is accepted. */
async function findFailing(config: MachineConfig): Promise<readonly string[] | undefined> {
  const { status, json } = await (await openRunning(config)).post('suspend');
  if (status === 200) return undefined;
  expect([status, json.error]).toEqual([422, 'not_eligible']);
  return json.details.conditions
    .filter(({ verdict }: { verdict: string }) => verdict === 'fails')
    .map(({ condition }: { condition: string }) => condition);
}

async function openSuspended() {
  const machine = await openRunning();
  expect(await machine.suspend()).toBe(200);
  return { ...machine, before: (await machine.read()).instance_id };
}

const proofs: Readonly<Record<string, () => Promise<void>>> = {
  async memory() {
    expect(await findFailing({ guest: { memory_mb: 2_048 } })).toBeUndefined();
    expect(await findFailing({ guest: { memory_mb: 2_049 } })).toEqual(['memory']);
  },
  async swap() {
    expect(await findFailing({ init: { swap_size_mb: 0 } })).toBeUndefined();
    expect(await findFailing({ init: { swap_size_mb: 1 } })).toEqual(['swap']);
  },
  async schedule() {
    expect(await findFailing({ schedule: 'monthly' })).toEqual(['schedule']);
  },
  async 'last update'() {
    const machine = await openRunning();
    await using storage = openSqliteStorage(opened().dir);
    const old = Date.parse('2024-06-20T20:00:00Z') - 1;
    await storage.run('UPDATE machines SET config_updated_at = $1 WHERE id = $2', [old, machine.id]);
    const refused = await machine.post('suspend');
    expect([refused.status, refused.json.error]).toEqual([422, 'not_eligible']);
    expect((await opened().call({ method: 'POST', path: machine.path, body: { config: {} } })).status).toBe(200);
    expect(await machine.wait('state=running')).toBe(200);
    expect(await machine.suspend()).toBe(200);
  },
  async 'running, suspend operation, machine is eligible'() {
    const machine = await openRunning();
    await machine.post('suspend');
    expect(await machine.wait('state=suspended')).toBe(200);
    expect((await machine.events()).slice(-2)).toEqual(['suspend suspending', 'suspended suspended']);
  },
  async 'suspended, start operation, snapshot still valid'() {
    const machine = await openSuspended();
    expect((await machine.post('start')).json).toEqual({ previous_state: 'suspended', migrated: false });
    expect(await machine.read()).toMatchObject({ state: 'running', instance_id: machine.before });
  },
  async 'suspended, stop operation then start operation'() {
    const machine = await openSuspended();
    expect(await machine.stop()).toBe(200);
    expect((await machine.post('start')).json).toMatchObject({ previous_state: 'stopped', cold_start: 'stopped' });
    expect((await machine.read()).instance_id).not.toBe(machine.before);
  },
  async 'suspended, start operation, snapshot discarded'() {
    const machine = await openSuspended();
    expect((await opened().call({ method: 'POST', path: machine.path, body: { config: {} } })).status).toBe(200);
    expect((await machine.post('start')).json).toMatchObject({ previous_state: 'suspended', cold_start: 'deploy' });
    expect((await machine.read()).instance_id).not.toBe(machine.before);
  },
  async 'POST suspend'() {
    expect(await (await openRunning()).post('suspend')).toMatchObject({ status: 200, json: { ok: true } });
  },
  async 'GET wait'() {
    const machine = await openRunning();
    const asked = await opened().call({ path: `${machine.path}/wait?state=suspended&timeout=1` });
    expect(asked.status).toBe(408);
    expect(await machine.wait('state=running')).toBe(200);
  },
  async 'POST start'() {
    const machine = await openSuspended();
    expect((await machine.post('start')).json).toEqual({ previous_state: 'suspended', migrated: false });
  },
};

/** These need agents in the machines, and the proofs are in tests of their own: a file, and the title of a test in it. */
const SOCKET = 'a suspend through the local socket';
const elsewhere: Readonly<Record<string, readonly [file: string, title: string]>> = {
  [SOCKET]: ['machines/suspend-rows.test.ts', 'a suspend through the local socket, by the line that people paste'],
  auto_stop_machines: [
    'idle/apps.test.ts',
    'one of two machines sleeps, the other is the fewest that may run, and says so',
  ],
  auto_start_machines: ['proxy/apps.test.ts', 'asleep, and not to be started by requests'],
  'concurrency type': ['proxy/apps.test.ts', 'a WebSocket counts as a request while it is open'],
  'concurrency soft_limit': [
    'proxy/apps.test.ts',
    'one more is started when those that run are busy, and the request does not wait for it',
  ],
};
const done = suspendRows.filter(([, row, state]) => state === 'done' && elsewhere[row] === undefined);

test('every row that is done has a proof, and no other', () => {
  expect(Object.keys(proofs).sort()).toEqual(done.map(([, row]) => row).sort());
});

test('a proof elsewhere is of a row that is done', () => {
  const rows = suspendRows.filter(([, , state]) => state === 'done').map(([, row]) => row);
  for (const [row, [file, title]] of Object.entries(elsewhere)) {
    expect(rows).toContain(row);
    expect(hasTest(`platform/${file}`, title), `${file}: ${title}`).toBe(true);
  }
  expect(hasTest('platform/proxy/apps.test.ts', 'no such title')).toBe(false);
});

test.each(done.map(([table, row]) => [table, row] as const))('%s: %s', async (_, row) => {
  await proofs[row]?.();
});

const isWithoutCurl = () => loudly(spawnSync('curl', ['--version']).error !== undefined, 'there is no curl');

/** The line that people paste, with another socket. */
const LINE = 'curl --unix-socket "$SOCKET" -X POST http://flaps/v1/apps/$FLY_APP_NAME/machines/$FLY_MACHINE_ID/suspend';

test.skipIf(isWithoutCurl())('a suspend through the local socket, by the line that people paste', async () => {
  // The agent passes the answer on before the freeze, also on a machine with much other work.
  const machine = await openAgentMachine({ freezeDelay_ms: 1_500 });
  await machine.channel();
  const env = {
    PATH: process.env.PATH ?? '',
    SOCKET: machine.socket,
    FLY_APP_NAME: 'acme',
    FLY_MACHINE_ID: machine.id,
  };
  const curl = spawn('sh', ['-c', LINE], { env, stdio: ['ignore', 'pipe', 'ignore'] });
  const [said, [code]] = await Promise.all([text(curl.stdout), once(curl, 'close')]);
  expect([JSON.parse(said), code]).toEqual([{ ok: true }, 0]);
  expect((await machine.wait('state=suspended')).status).toBe(200);
});
