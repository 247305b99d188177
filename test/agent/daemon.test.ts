import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { spawnAgent, startAgent } from '../support/agent-process.ts';
import { ask } from '../support/ask.ts';
import { readLines } from '../support/read-lines.ts';
import { tempDir } from '../support/temp-dir.ts';

const JSON_BODY = { 'content-type': 'application/json' };
const DEAD = 'http://127.0.0.1:9';

async function serve(server: Server): Promise<string> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('an agent that lacks something', () => {
  it('serves with nothing configured, and says what is off', async () => {
    const agent = await startAgent();
    await expect.poll(async () => (await agent.get('/v1/ready')).status).toBe(200);
    const ready = (await agent.get('/v1/ready')).json;
    expect(ready).toMatchObject({
      status: 'ready',
      parts: {
        machine: { state: 'off', reason: expect.stringContaining('REMORA_MACHINES_API') },
        gateway: { state: 'off', reason: expect.stringContaining('REMORA_BASE_URL') },
        replication: { state: 'off' },
        ports: { state: 'ok' },
      },
    });
    expect((await agent.ask({ method: 'POST', target: '/v1/machine/suspend' })).json).toMatchObject({
      error: 'not_configured',
    });
    expect((await agent.get('/v1/gateway/openai/c/v1/models')).status).toBe(503);
    expect((await agent.get('/v1/replication')).status).toBeLessThan(600);
    expect((await agent.get('/metrics')).text).toContain('remora_part_state{part="ports",state="ok"} 1');
  });

  it('serves on without platform and node, and names both', async () => {
    const agent = await startAgent({
      REMORA_BASE_URL: DEAD,
      REMORA_TOKEN: 'sk-canary-1',
      REMORA_SPRITE: 'dev-1',
      REMORA_NODE_URL: DEAD,
      REMORA_MACHINES_API: DEAD,
      REMORA_APP: 'a',
      REMORA_MACHINE: 'm',
      FLY_VM_MEMORY_MB: '256',
    });
    await expect
      .poll(async () => (await agent.get('/v1/ready')).json)
      .toMatchObject({
        status: 'not_ready',
        parts: { gateway: { state: 'failed' }, replication: { state: expect.stringMatching(/degraded|failed/) } },
      });
    expect((await agent.get('/v1/ports')).status).toBe(200);
    expect((await agent.get('/v1/gateway/openai/c/v1/models')).json).toMatchObject({ error: 'policy_unavailable' });
    const suspend = await agent.ask({ method: 'POST', target: '/v1/apps/a/machines/m/suspend' });
    expect(suspend).toMatchObject({ status: 502, json: { error: 'upstream_failed' } });
    expect((await agent.get('/v1/machine')).json).toMatchObject({
      state: 'awake',
      last_suspend: { outcome: 'refused' },
    });
    const other = await agent.ask({ method: 'POST', target: '/v1/apps/a/machines/other/suspend' });
    expect(other).toMatchObject({ status: 403, json: { error: 'not_this_machine' } });
  });

  it('starts with unknown settings and a token in the wrong place, and says so', async () => {
    const dir = tempDir();
    const config = join(dir, 'agent.toml');
    writeFileSync(config, 'token = "sk-canary-2"\nspeed = 9\n');
    const agent = spawnAgent({ REMORA_SOKET: '/x', REMORA_CONFIG: config }, dir);
    await expect.poll(() => existsSync(agent.socket)).toBe(true);
    const { warnings } = (await agent.get('/v1/status')).json as { warnings: { setting: string }[] };
    expect(warnings.map((warning) => warning.setting).sort()).toEqual(['REMORA_SOKET', 'speed', 'token']);
    expect((await agent.get('/v1/ready')).json).toMatchObject({ parts: { settings: { state: 'degraded' } } });
    expect(agent.log() + JSON.stringify((await agent.get('/v1/status')).json)).not.toContain('sk-canary-2');
  });

  it('starts with damaged databases, keeps them aside, and says so', async () => {
    const dir = tempDir();
    mkdirSync(join(dir, 'state'));
    for (const name of ['agent.db', 'replication.db'])
      writeFileSync(join(dir, 'state', name), 'not a database at all, '.repeat(400));
    const agent = await startAgent({ REMORA_NODE_URL: DEAD }, dir);
    expect((await agent.get('/v1/ready')).json).toMatchObject({
      parts: { store: { state: 'degraded', reason: expect.stringContaining('damaged') } },
    });
    expect(existsSync(join(dir, 'state', 'agent.db.damaged'))).toBe(true);
  });

  it('reports every bad setting at once and starts nothing', async () => {
    const agent = spawnAgent({ REMORA_NODE_URL: 'nowhere', REMORA_LISTEN: '0.0.0.0', REMORA_SOCKET_MODE: 'rw' });
    expect(await agent.ended).not.toBe(0);
    for (const name of ['REMORA_NODE_URL', 'REMORA_LISTEN', 'REMORA_SOCKET_MODE']) expect(agent.log()).toContain(name);
    expect(existsSync(agent.socket)).toBe(false);
  });
});

describe('the socket of the daemon', () => {
  it('is refused to a second instance while the first serves on', async () => {
    const first = await startAgent();
    const second = spawnAgent({}, first.dir);
    expect(await second.ended).not.toBe(0);
    expect(second.log()).toContain(first.socket);
    expect((await first.get('/v1/health')).status).toBe(200);
  });

  it('is taken over from one that was killed, with its events numbered on', async () => {
    const first = await startAgent();
    const before = await (await readLines('/v1/events', first.socket)).next();
    first.child.kill('SIGKILL');
    await first.ended;
    const second = await startAgent({}, first.dir);
    const after = await (await readLines('/v1/events?since=0', second.socket)).next();
    expect(Number(after.oldest)).toBeGreaterThan(Number(before.seq));
  });

  it('has the mode that was asked for', async () => {
    const agent = await startAgent({ REMORA_SOCKET_MODE: '0600' });
    expect(statSync(agent.socket).mode & 0o777).toBe(0o600);
  });

  it('has a second one that only reads', async () => {
    const dir = tempDir();
    const readonly = join(dir, 'ro.sock');
    await startAgent({ REMORA_READONLY_SOCKET: readonly }, dir);
    for (const target of ['/v1/status', '/v1/ports', '/v1/replication', '/metrics', '/openapi.json']) {
      expect((await ask(readonly, { target })).status, target).toBe(200);
    }
    for (const [method, target] of [
      ['POST', '/v1/machine/suspend'],
      ['GET', '/v1/gateway/list'],
      ['GET', '/v1/tasks'],
      ['GET', '/v1/gateway/openai/c/x'],
    ] as const) {
      expect(await ask(readonly, { method, target }), target).toMatchObject({
        status: 403,
        json: { error: 'read_only' },
      });
    }
  });

  it('calls a port only for who may use the main socket', async () => {
    let calls = 0;
    const url = await serve(
      createServer((_request, response) => {
        calls += 1;
        response.end();
      }),
    );
    const dir = tempDir();
    const readonly = join(dir, 'ro.sock');
    const agent = await startAgent({ REMORA_READONLY_SOCKET: readonly, REMORA_LISTEN: '127.0.0.1:0' }, dir);
    const target = `/v1/ports/${new URL(url).port}/wait?until=http&timeout=30s`;
    expect(await ask(readonly, { target })).toMatchObject({ status: 403, json: { error: 'read_only' } });
    const made = await agent.ask({ method: 'POST', target: '/v1/gateway/tokens', body: '{}', headers: JSON_BODY });
    const { token, loopback_url } = made.json as { token: string; loopback_url?: string };
    const [, port] = /127\.0\.0\.1:(\d+)/.exec(`${loopback_url} ${agent.log()}`) ?? [];
    const answer = await fetch(`http://127.0.0.1:${port}${target}`, { headers: { authorization: `Bearer ${token}` } });
    expect([answer.status, await answer.json()]).toMatchObject([403, { error: 'read_only' }]);
    expect(calls).toBe(0);
    expect((await ask(readonly, { target: target.replace('http', 'listen') })).status).toBe(200);
    expect((await agent.get(target)).status).toBe(200);
    // It asks once more where the answer is late.
    expect(calls).toBeGreaterThanOrEqual(1);
  });

  it('leaves its token nowhere in /proc', async () => {
    const agent = await startAgent({ REMORA_TOKEN: 'sk-canary-3', REMORA_SPRITE: 'dev-1', REMORA_BASE_URL: DEAD });
    const shown = readFileSync(`/proc/${agent.child.pid}/environ`, 'latin1');
    expect(shown).toContain('REMORA_SPRITE=dev-1');
    expect(shown).not.toContain('canary');
    expect((await agent.get('/v1/ready')).json).toMatchObject({ warnings: [], parts: { settings: { state: 'ok' } } });
    expect(agent.log()).not.toContain('canary');
  });

  it('lists every row it serves as OpenAPI', async () => {
    const agent = await startAgent();
    const { paths, openapi } = (await agent.get('/openapi.json')).json as { paths: object; openapi: string };
    expect(openapi).toMatch(/^3\.1/);
    expect(Object.keys(paths)).toEqual(expect.arrayContaining(['/v1/status', '/v1/ports/watch', '/v1/tasks/{name}']));
  });
});

describe('stopping', () => {
  it('ends streams cleanly, exits with 0 and leaves no file', async () => {
    const agent = await startAgent();
    const streams = await Promise.all([
      readLines('/v1/events', agent.socket),
      readLines('/v1/ports/watch', agent.socket),
    ]);
    for (const stream of streams) await stream.next();
    agent.child.kill('SIGTERM');
    expect(await Promise.all(streams.map((stream) => stream.ended))).toEqual(['end', 'end']);
    expect(await agent.ended).toBe(0);
    expect(existsSync(agent.socket)).toBe(false);
  });

  it('waits for an answer that is due, at most until the deadline, and not at all when told twice', async () => {
    const asked = Promise.withResolvers<void>();
    const url = await serve(createServer(({ url = '' }) => url.includes('/wait') && asked.resolve()));
    const env = {
      REMORA_MACHINES_API: url,
      REMORA_APP: 'a',
      REMORA_MACHINE: 'm',
      REMORA_SHUTDOWN_TIMEOUT: '20s',
    };
    const agent = await startAgent(env);
    const wait = agent.get('/v1/apps/a/machines/m/wait?state=stopped').catch((error: Error) => error.message);
    await asked.promise;
    agent.child.kill('SIGTERM');
    await expect.poll(() => agent.log()).toContain('stopping');
    const begun = performance.now();
    agent.child.kill('SIGTERM');
    expect(await agent.ended).not.toBe(0);
    expect(performance.now() - begun).toBeLessThan(15_000);
    expect(await wait).toMatch(/hang up|reset/);
  });

  it('ends at the deadline although its start hangs', async () => {
    const preload = new URL('../support/hanging-listen.ts', import.meta.url).pathname;
    const agent = spawnAgent({ NODE_OPTIONS: `--import=${preload}`, REMORA_SHUTDOWN_TIMEOUT: '200ms' });
    await expect.poll(() => agent.log()).toContain('a server hangs');
    agent.child.kill('SIGTERM');
    expect(await agent.ended).toBe(1);
    expect(agent.log()).toContain('stopping');
    expect(agent.log()).not.toContain('"serving"');
  });
});

it('lets its token reach no log, answer, file or child', async () => {
  const canary = 'sk-canary-7d1f';
  const dir = tempDir();
  const hooks = join(dir, 'hooks');
  mkdirSync(join(hooks, 'pre-suspend.d'), { recursive: true });
  const seen = join(dir, 'seen');
  writeFileSync(join(hooks, 'pre-suspend.d', '10-env'), `#!/bin/sh\n(env; cat) > ${seen}\nexit 1\n`);
  chmodSync(join(hooks, 'pre-suspend.d', '10-env'), 0o755);
  const tokens: (string | undefined)[] = [];
  const url = await serve(
    createServer((request, response) => {
      tokens.push(request.headers.authorization);
      response.writeHead(500).end(JSON.stringify({ error: 'internal', message: 'no' }));
    }),
  );
  const agent = await startAgent(
    {
      REMORA_BASE_URL: url,
      REMORA_TOKEN: canary,
      REMORA_SPRITE: 'dev-1',
      REMORA_MACHINES_API: url,
      REMORA_APP: 'a',
      REMORA_MACHINE: 'm',
      REMORA_HOOKS_DIR: hooks,
      FLY_VM_MEMORY_MB: '256',
    },
    dir,
  );
  await expect.poll(() => tokens.length).toBeGreaterThan(0);
  expect(tokens).toContain(`Bearer ${canary}`);
  const targets = ['/v1/status', '/v1/ready', '/metrics', '/v1/gateway/list', '/v1/gateway/log', '/v1/machine'];
  const answers = await Promise.all(targets.map(async (target) => (await agent.get(target)).text));
  answers.push((await agent.ask({ method: 'POST', target: '/v1/machine/suspend' })).text);
  expect(existsSync(seen)).toBe(true);
  const environ = readFileSync(`/proc/${agent.child.pid}/environ`, 'latin1');
  expect(environ).toContain('REMORA_SPRITE');
  const files = await concatenate(dir);
  for (const text of [...answers, agent.log(), readFileSync(seen, 'utf8'), files]) expect(text).not.toContain(canary);
});

/** Every file below a directory, sockets left out. */
async function concatenate(dir: string): Promise<string> {
  const child = spawn('find', [dir, '-type', 'f', '-exec', 'cat', '{}', '+']);
  let text = '';
  child.stdout.setEncoding('latin1').on('data', (chunk: string) => {
    text += chunk;
  });
  await once(child, 'close');
  return text;
}
