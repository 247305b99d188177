// The daemon as a whole: it asks the machines API for its own suspend when it has had no work for long enough.
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { idleStatus } from '../../../src/contract/local/tasks.ts';
import { ask } from '../../support/ask.ts';
import { startChild } from '../../support/child-lines.ts';
import { readLines } from '../../support/read-lines.ts';
import { remoraPath } from '../../support/run-remora.ts';
import { tempDir } from '../../support/temp-dir.ts';

const UNTIL = { timeout: 60_000 };
const SUSPEND = 'POST /v1/apps/shop/machines/m1/suspend';

/** A machines API that knows one machine, which may be suspended, and takes no suspend seriously. */
async function startMachinesApi(socketPath: string): Promise<string[]> {
  const calls: string[] = [];
  const machine = {
    id: 'm1',
    name: 'm1',
    state: 'started',
    region: 'local',
    updated_at: '2026-01-01T00:00:00Z',
    config: { guest: { memory_mb: 256 } },
  };
  const server = createServer((request, response) => {
    calls.push(`${request.method} ${request.url}`);
    response.setHeader('content-type', 'application/json');
    if (request.method === 'POST') response.writeHead(503).end('{"error":"no","status":"unavailable"}');
    else response.end(JSON.stringify(machine));
  });
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return calls;
}

it('suspends an idle machine, not one that is held, and serves on when the platform refuses', async () => {
  const dir = tempDir();
  const socket = join(dir, 'agent.sock');
  const calls = await startMachinesApi(join(dir, 'machines.sock'));
  // Other tests of this machine listen and talk meanwhile, which would be work.
  const config = join(dir, 'agent.toml');
  const ports = Array.from({ length: 65_535 }, (_, index) => index + 1);
  writeFileSync(config, `[suspend]\nidle_ignore_ports = ${JSON.stringify(ports)}\n`);
  const agent = startChild(process.execPath, [remoraPath, 'agent', '--config', config], {
    REMORA_SOCKET: socket,
    REMORA_STATE_DIR: join(dir, 'state'),
    REMORA_APP: 'shop',
    REMORA_MACHINE: 'm1',
    REMORA_MACHINES_API: `unix:${join(dir, 'machines.sock')}`,
    REMORA_SUSPEND_IDLE_AFTER: '4s',
    REMORA_RESUME_KILL_PORTS: '1',
    REMORA_LOG_LEVEL: 'error',
  });
  const call = async (method: string, target: string, body?: object) => {
    const headers = { 'content-type': 'application/json' };
    return await ask(socket, {
      method,
      target,
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers }),
    });
  };
  const report = async () => idleStatus.parse((await call('GET', '/v1/idle')).json);
  const health = async () => (await call('GET', '/v1/health').catch(() => undefined))?.json;
  await expect.poll(health, UNTIL).toEqual({ status: 'ok' });
  await call('PUT', '/v1/tasks/build', { expire: '10m', reason: 'compiling' });
  const held = await report();
  expect(held.blockers).toContainEqual({
    kind: 'hold',
    owner: 'build',
    since: expect.any(String),
    reason: 'compiling',
  });
  expect(held).toMatchObject({ idle: false, would_suspend_at: null, idle_suspend: { after_ms: 4_000 } });
  expect(calls).not.toContain(SUSPEND);

  await call('DELETE', '/v1/tasks/build');
  await expect.poll(async () => (await report()).last_refusal?.message, UNTIL).toMatch(/refused the suspend with 503/);
  expect(calls.filter((line) => line === SUSPEND)).toHaveLength(1);
  expect(await health()).toEqual({ status: 'ok' });

  // What holds it now keeps it from being idle once more before that is seen.
  await call('PUT', '/v1/tasks/build', { expire: '10m' });
  // A resume that somebody tells of takes the step of the stale connections as well.
  await call('POST', '/v1/machine/resumed', {});
  await expect.poll(async () => (await report()).last_refusal, UNTIL).toBeUndefined();
  const events = await readLines('/v1/events?since=0&types=resumed', socket);
  await events.next();
  const steps = expect.arrayContaining([expect.objectContaining({ name: 'stale_sockets' })]);
  expect(await events.next()).toMatchObject({ type: 'resumed', steps });
  events.close();
  agent.process.kill('SIGTERM');
  expect(await agent.ended).toBe(0);
});
