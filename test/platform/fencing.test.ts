// One incarnation of all the copies of a machine is served: reports and every other call of a sprite, over the real door.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { resumeReportResponse } from '../../src/contract/resume-reports.ts';
import { Secret } from '../../src/core/secret.ts';
import { judgeIncarnation } from '../../src/platform/fencing/judge-incarnation.ts';
import {
  type IncarnationNonces,
  parseKnownIncarnation,
  toNonceHash,
  toStoredNonces,
} from '../../src/platform/fencing/known-incarnation.ts';
import { eventually } from '../support/eventually.ts';
import { machineCommand, openTestPlatform, readReport, type TestPlatformOptions } from '../support/open-platform.ts';
import { openRaw } from '../support/raw-http.ts';

const name = { organization: 'acme', sprite: 'dev-1' } as const;
const one = 'a1'.repeat(16);
const other = 'b2'.repeat(16);
const notices = {
  notices: [{ id: 'n1', type: 'port_opened', port: 80, address: 'x', pid: 1, time: '2025-01-01T00:00:00.000Z' }],
};

function toHeaders(generation: number | string, incarnation: string): Record<string, string> {
  return { 'remora-generation': String(generation), 'remora-incarnation': incarnation };
}

async function open(options: TestPlatformOptions = {}, sprite = 'dev-1', external = false) {
  const platform = await openTestPlatform(options);
  const owner = { organization: 'acme', sprite };
  if ((await platform.admin.findSprite(owner)) === undefined)
    await platform.admin.createSprite({ organization: 'acme', name: sprite, external });
  const token = await platform.admin.createToken(owner);
  const { id } = await platform.admin.readMachine(owner);
  const path = `/v1/apps/acme/machines/${id}`;
  /** Sends what the agent sends: the incarnation in the headers and in the body. */
  const report = (generation: number, incarnation: string, headers = toHeaders(generation, incarnation)) =>
    platform.call({
      method: 'POST',
      path: `${path}/resumed`,
      token,
      headers,
      body: { generation, incarnation, reason: 'restore', gap_ms: 14_000, wall_skew_ms: 14_000, holds: ['build'] },
    });
  /** Any other call. */
  const call = async (generation: number | string, incarnation: string) =>
    await platform.call({ path: `/v1/sprites/${sprite}`, token, headers: toHeaders(generation, incarnation) });
  return { platform, token, path, report, call };
}

const incarnationOf = (generation: number, incarnation: string) => ({ generation, incarnation });
const none: IncarnationNonces = { type: 'none' };
const pending: IncarnationNonces = { type: 'pending', hashes: ['x'.repeat(43), 'y'.repeat(43)].map(toNonceHash) };
const confirmed: IncarnationNonces = { type: 'confirmed', hash: toNonceHash('x'.repeat(43)) };

test.each([
  [undefined, incarnationOf(0, one), 'newer'],
  [{ ...incarnationOf(5, one), nonces: confirmed }, incarnationOf(6, one), 'newer'],
  [{ ...incarnationOf(5, one), nonces: none }, incarnationOf(6, other), 'newer'],
  [{ ...incarnationOf(5, one), nonces: none }, incarnationOf(5, one), 'unconfirmed'],
  [{ ...incarnationOf(5, one), nonces: none }, incarnationOf(5, other), 'conflict'],
  [{ ...incarnationOf(5, one), nonces: none }, incarnationOf(4, one), 'rewound'],
  [{ ...incarnationOf(5, one), nonces: none }, incarnationOf(0, other), 'rewound'],
  [{ ...incarnationOf(5, one), nonces: pending }, incarnationOf(5, one), 'unconfirmed'],
  [{ ...incarnationOf(5, one), nonces: pending }, { ...incarnationOf(5, one), nonce: 'y'.repeat(43) }, 'confirms'],
  [{ ...incarnationOf(5, one), nonces: pending }, { ...incarnationOf(5, one), nonce: 'z'.repeat(43) }, 'unconfirmed'],
  [{ ...incarnationOf(5, one), nonces: confirmed }, { ...incarnationOf(5, one), nonce: 'x'.repeat(43) }, 'same'],
  [{ ...incarnationOf(5, one), nonces: confirmed }, { ...incarnationOf(5, one), nonce: 'y'.repeat(43) }, 'conflict'],
  [{ ...incarnationOf(5, one), nonces: confirmed }, incarnationOf(5, one), 'conflict'],
  [{ ...incarnationOf(5, one), nonces: confirmed }, { ...incarnationOf(5, other), nonce: 'x'.repeat(43) }, 'conflict'],
] as const)('next to %j, %j is %s', (known, claimed, verdict) => {
  expect(judgeIncarnation(known, claimed)).toBe(verdict);
});

test.each([none, pending, confirmed])('%j is read as it was stored', (nonces) => {
  const row = { ...incarnationOf(1, one), nonces: toStoredNonces(nonces) };
  expect(parseKnownIncarnation(row)).toEqual({ ...incarnationOf(1, one), nonces });
});

describe('two machines that are equal to the last byte', () => {
  const withNonce = (nonce: string) => ({ ...toHeaders(6, one), 'remora-nonce': nonce });

  async function openTwo() {
    const opened = await open();
    const { platform, token } = opened;
    const nonces = [(await opened.report(6, one)).json.nonce, (await opened.report(6, one)).json.nonce];
    const callWith = (nonce: string) => platform.call({ path: '/v1/sprites/dev-1', token, headers: withNonce(nonce) });
    return { ...opened, nonces, callWith };
  }

  test('are given a nonce each, and the second to call with one is refused, whatever it calls with', async () => {
    const { report, call, nonces, callWith, platform } = await openTwo();
    expect(nonces[0]).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(nonces[0]).not.toBe(nonces[1]);
    expect((await call(6, one)).status).toBe(200);
    expect((await callWith(nonces[1])).status).toBe(200);
    expect((await callWith(nonces[0])).json).toMatchObject({
      error: 'incarnation_conflict',
      details: { generation: 6 },
    });
    expect((await call(6, one)).json).toMatchObject({ error: 'incarnation_conflict' });
    expect((await report(6, one)).json).toMatchObject({ error: 'incarnation_conflict' });
    expect((await report(6, one, withNonce(nonces[0]))).json).toMatchObject({ error: 'incarnation_conflict' });
    expect((await callWith(nonces[1])).status).toBe(200);
    const files = ['platform.db', 'platform.db-wal'].map((file) => readFileSync(join(platform.dir, file), 'latin1'));
    const stored = files.join('');
    expect(stored).toContain(one);
    const log = JSON.stringify(platform.log);
    for (const nonce of nonces) expect([stored.includes(nonce), log.includes(nonce)]).toEqual([false, false]);
  });

  test('are one when a report carries the nonce: the agent was restarted, and keeps it', async () => {
    const { report, nonces, callWith } = await openTwo();
    const again = await report(6, one, withNonce(nonces[0]));
    expect([again.status, again.json.nonce]).toEqual([200, undefined]);
    expect((await callWith(nonces[1])).status).toBe(409);
    expect((await report(6, one, withNonce(nonces[0]))).status).toBe(200);
  });

  test('are told apart at every platform on the database, and after a restart', async () => {
    const { nonces, callWith, platform } = await openTwo();
    await callWith(nonces[0]);
    await platform[Symbol.asyncDispose]();
    const { platform: next, token } = await open({ dir: platform.dir });
    const call = (nonce: string) => next.call({ path: '/v1/sprites/dev-1', token, headers: withNonce(nonce) });
    expect([(await call(nonces[0])).status, (await call(nonces[1])).status]).toEqual([200, 409]);
  });

  test('may lose any number of answers; the last four nonces are good', async () => {
    const { report, callWith, nonces } = await openTwo();
    for (let count = 0; count < 6; count += 1) nonces.push((await report(6, one)).json.nonce);
    // The fifth from the end decides nothing, and is refused once one of the four has.
    const answers = [await callWith(nonces[3]), await callWith(nonces[7]), await callWith(nonces[3])];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 409]);
  });

  test('get new nonces in their next incarnation', async () => {
    const { report, callWith, nonces, call } = await openTwo();
    await callWith(nonces[0]);
    const next = await report(7, other);
    expect(next.json.nonce).not.toBe(nonces[0]);
    expect((await call(7, other)).status).toBe(200);
    expect((await callWith(nonces[0])).json).toMatchObject({ error: 'rewound' });
  });
});

describe('a new installation', () => {
  const born = { generation: 0, incarnation: other, reason: 'start', gap_ms: null, wall_skew_ms: null, holds: [] };

  async function openServed(external: boolean) {
    let now_ms = Date.now();
    const clock = { wall_ms: () => now_ms, mono_ms: () => performance.now() };
    const opened = await open({ clock }, 'dev-1', external);
    const { platform, token, path } = opened;
    const first = await opened.report(6, one);
    const headers = { ...toHeaders(6, one), 'remora-nonce': first.json.nonce };
    const served = () => platform.call({ path: '/v1/sprites/dev-1', token, headers });
    expect((await served()).status).toBe(200);
    const arrive = (incarnation = other, as = token) =>
      platform.call({
        method: 'POST',
        path: `${path}/resumed`,
        token: as,
        headers: toHeaders(0, incarnation),
        body: { ...born, incarnation, new_installation: true },
      });
    const pass = (ms: number) => {
      now_ms += ms;
    };
    return { ...opened, served, arrive, pass };
  }

  test('of an external machine takes over one generation above, and is written to the log', async () => {
    const { arrive, served, platform, token } = await openServed(true);
    const { status, json } = await arrive();
    expect([status, json.generation]).toEqual([200, 7]);
    expect((await served()).json).toMatchObject({ error: 'rewound', details: { generation: 7 } });
    const headers = { ...toHeaders(7, other), 'remora-nonce': json.nonce };
    expect((await platform.call({ path: '/v1/sprites/dev-1', token, headers })).status).toBe(200);
    expect(platform.log).toContainEqual(
      expect.objectContaining({
        audit: 'machine_taken_over',
        from: incarnationOf(6, one),
        to: 7,
        token: expect.any(String),
      }),
    );
  });

  test('whose answer was lost asks again and is told the same, until it has called', async () => {
    const { arrive, platform, token } = await openServed(true);
    await arrive();
    const { status, json } = await arrive();
    expect([status, json.generation]).toEqual([200, 7]);
    const headers = { ...toHeaders(7, other), 'remora-nonce': json.nonce };
    expect((await platform.call({ path: '/v1/sprites/dev-1', token, headers })).status).toBe(200);
    expect((await arrive()).json).toMatchObject({ error: 'rewound' });
  });

  test('is taken once an hour, and is told when', async () => {
    const { arrive, pass } = await openServed(true);
    expect((await arrive('c3'.repeat(16))).status).toBe(200);
    pass(600_000);
    const refused = await arrive();
    expect([refused.status, refused.json.error]).toEqual([429, 'too_many_requests']);
    expect(Number(refused.headers.get('retry-after'))).toBe(3_000);
    pass(3_000_000);
    expect((await arrive()).status).toBe(200);
  });

  test('of a machine that the platform runs, or with a token that only reads, does not take over', async () => {
    const { arrive, served, platform } = await openServed(false);
    expect((await arrive()).json).toMatchObject({
      error: 'rewound',
      message: expect.stringContaining('machine adopt'),
    });
    const external = await openServed(true);
    const reading = await external.platform.admin.createToken({ ...name, access: 'read' });
    expect((await external.arrive(other, reading)).status).toBe(403);
    expect([(await served()).status, (await external.served()).status]).toEqual([200, 200]);
    expect(platform.log.some((line) => 'audit' in line)).toBe(false);
  });

  test.each([true, false])('is taken when the operator says so, at any time, once (external: %s)', async (external) => {
    const { arrive, served, platform, path, token } = await openServed(external);
    expect((await platform.call({ method: 'POST', path: `${path}/adopt`, token })).status).toBe(403);
    if (external) await arrive('c3'.repeat(16));
    expect((await platform.call({ method: 'POST', path: `${path}/adopt` })).status).toBe(200);
    if (!external) expect((await served()).status).toBe(200);
    const { status, json } = await arrive();
    expect([status, json.generation]).toEqual([200, external ? 8 : 7]);
    expect((await served()).json).toMatchObject({ error: 'rewound' });
    expect((await arrive('d4'.repeat(16))).status).toBe(external ? 429 : 409);
  });

  test('of a copy that was refused: after the word of the operator its next report takes over', async () => {
    const { report, served, platform, path } = await openServed(false);
    expect((await report(6, other)).json).toMatchObject({
      error: 'incarnation_conflict',
      message: expect.stringContaining('remora machine adopt'),
    });
    expect((await platform.call({ method: 'POST', path: `${path}/adopt` })).status).toBe(200);
    expect((await report(6, other)).json).toMatchObject({ generation: 7 });
    expect((await served()).json).toMatchObject({ error: 'rewound' });
  });
});

describe('an external machine', () => {
  test('is made over the interface, moved by nobody here, running from its first report on, and deleted', async () => {
    const platform = await openTestPlatform({ agentCommand: machineCommand() });
    const body = { name: 'vm-1', external: true };
    const { json: sprite } = await platform.call({ method: 'POST', path: '/v1/sprites', body });
    const path = `/v1/apps/acme/machines/${sprite.machine_id}`;
    const read = async () => (await platform.call({ path })).json;
    expect(await read()).toMatchObject({ state: 'stopped', config: { external: true } });
    for (const move of ['start', 'suspend', 'stop']) {
      const answer = await platform.call({ method: 'POST', path: `${path}/${move}` });
      expect([answer.status, answer.json.error]).toEqual([409, 'external_machine']);
      expect(answer.json.message).toContain('where it runs');
    }
    const token = await platform.admin.createToken({ organization: 'acme', sprite: 'vm-1' });
    const report = { ...incarnationOf(0, one), reason: 'start', gap_ms: null, wall_skew_ms: null, holds: [] };
    await platform.call({ method: 'POST', path: `${path}/resumed`, token, body: report });
    expect(await read()).toMatchObject({ state: 'running' });
    await platform[Symbol.asyncDispose]();
    const next = await openTestPlatform({ dir: platform.dir, agentCommand: machineCommand() });
    expect((await next.call({ path })).json).toMatchObject({ state: 'running' });
    expect((await next.call({ method: 'DELETE', path: '/v1/sprites/vm-1' })).status).toBe(204);
  });
});

describe('a report', () => {
  test('says which version runs on the sprite, which it shows from then on', async () => {
    const { platform, token, path } = await open({ environmentVersion: 'v0.0.1-rc48' });
    const sprite = async () => (await platform.call({ path: '/v1/sprites/dev-1' })).json;
    expect(await sprite()).toMatchObject({ version: null, environment_version: 'v0.0.1-rc48' });
    const told = { generation: 1, incarnation: one, reason: 'start', gap_ms: null, wall_skew_ms: null, holds: [] };
    const report = (more: object) =>
      platform.call({ method: 'POST', path: `${path}/resumed`, token, body: { ...told, ...more } });
    expect((await report({ version: '1.2.3' })).status).toBe(200);
    expect((await report({})).status).toBe(200);
    expect(await sprite()).toMatchObject({ version: '1.2.3' });
    expect((await platform.call({ path: '/v1/sprites' })).json.sprites).toEqual([await sprite()]);
  });

  test('is answered with the time and the spread, and told to the log', async () => {
    const { platform, report } = await open();
    const before_ms = Date.now();
    const answer = await report(1, one);
    expect(answer.status).toBe(200);
    const { server_time, reconnect_spread_ms } = resumeReportResponse.parse(answer.json);
    expect(Date.parse(server_time)).toBeGreaterThanOrEqual(before_ms);
    expect(Date.parse(server_time)).toBeLessThanOrEqual(Date.now());
    expect(reconnect_spread_ms).toBe(0);
    expect(platform.log).toContainEqual(
      expect.objectContaining({ generation: 1, incarnation: one, reason: 'restore', holds: ['build'] }),
    );
  });

  test('may come again, as often as its answer is lost', async () => {
    const { report } = await open();
    for (let count = 0; count < 3; count += 1) expect((await report(4, one)).status).toBe(200);
  });

  test('without the headers is judged by its body', async () => {
    const { report } = await open();
    expect((await report(4, one, {})).status).toBe(200);
    expect((await report(4, other, {})).json).toMatchObject({ error: 'incarnation_conflict' });
    expect((await report(3, one, {})).json).toMatchObject({ error: 'rewound' });
  });

  test('that names another incarnation than its headers is refused and changes nothing', async () => {
    const { report, call } = await open();
    const answer = await report(9, other, toHeaders(4, one));
    expect(answer).toMatchObject({ status: 400, json: { error: 'invalid_request' } });
    expect((await call(4, one)).status).toBe(200);
  });

  test('for the machine of another sprite is forbidden, and does not count for it', async () => {
    const { platform, report, path } = await open();
    await platform.admin.createSprite({ organization: 'acme', name: 'dev-2' });
    const token = await platform.admin.createToken({ organization: 'acme', sprite: 'dev-2' });
    const body = { ...incarnationOf(9, other), reason: 'start', gap_ms: null, wall_skew_ms: null, holds: [] };
    const answer = await platform.call({ method: 'POST', path: `${path}/resumed`, token, body });
    expect(answer.status).toBe(403);
    expect((await report(1, one)).status).toBe(200);
  });

  test('is told the spread once another machine has reported too', async () => {
    const { platform, report } = await open({ reconnectSpread_ms: 10_000 });
    expect((await report(1, one)).json).toMatchObject({ reconnect_spread_ms: 0 });
    await platform.admin.createSprite({ organization: 'acme', name: 'dev-2' });
    const token = await platform.admin.createToken({ organization: 'acme', sprite: 'dev-2' });
    await platform.call({ path: '/v1/sprites/dev-2', token, headers: toHeaders(0, other) });
    expect((await report(1, one)).json).toMatchObject({ reconnect_spread_ms: 10_000 });
  });
});

describe('the second of two machines of one snapshot', () => {
  test('is refused everywhere, with the generation that is known, and the first is served on', async () => {
    const { platform, token, path, report } = await open();
    expect((await report(6, one)).status).toBe(200);
    const refused = await report(6, other);
    expect(refused).toMatchObject({
      status: 409,
      json: { error: 'incarnation_conflict', details: { generation: 6 } },
    });
    expect(refused.headers.get('remora-error')).toBe('incarnation_conflict');
    const doors = [
      ['GET', '/v1/gateway/openai/conn_1/v1/models', undefined],
      ['GET', '/v1/gateway/list', undefined],
      ['POST', '/v1/sprites/dev-1/ports/notices', notices],
      ['GET', '/v1/oauth/connections', undefined],
      ['GET', '/v1/sprites/dev-1', undefined],
      ['GET', path, undefined],
      ['POST', `${path}/stop`, undefined],
      ['POST', `${path}/suspend`, undefined],
      ['POST', `${path}/metadata/role`, { value: 'primary' }],
    ] as const;
    const ask = async (incarnation: string) => {
      const codes: string[] = [];
      for (const [method, path, body] of doors) {
        const answer = await platform.call({ method, path, token, body, headers: toHeaders(6, incarnation) });
        codes.push(answer.json?.error ?? 'none');
      }
      return codes;
    };
    const openPorts = async () => (await platform.call({ path: '/v1/sprites/dev-1/ports' })).json.ports.length;
    expect(await ask(other)).toEqual(doors.map(() => 'incarnation_conflict'));
    expect(await openPorts()).toBe(0);
    const served = await ask(one);
    expect(served).toEqual([
      'unknown_connector',
      'none',
      'none',
      'none',
      'none',
      'none',
      'none',
      'invalid_state',
      'none',
    ]);
    expect(await openPorts()).toBe(1);
  });

  test('is the one that called second, whatever the first call was', async () => {
    const { report, call } = await open();
    expect((await call(6, other)).status).toBe(200);
    expect((await report(6, one)).json).toMatchObject({ error: 'incarnation_conflict' });
    expect((await report(6, other)).status).toBe(200);
  });
});

describe('a rewound machine', () => {
  test('is refused, and a higher generation is not, though its incarnation is new', async () => {
    const { report, call } = await open();
    await report(6, one);
    expect((await call(7, other)).status).toBe(200);
    for (const answer of [await call(6, one), await report(6, one), await call(0, other)]) {
      expect(answer).toMatchObject({ status: 409, json: { error: 'rewound', details: { generation: 7 } } });
    }
    expect((await call(7, other)).status).toBe(200);
  });

  test('is refused by the next platform in the same directory as well', async () => {
    const first = await open();
    await first.report(6, one);
    await first.call(7, one);
    await first.platform[Symbol.asyncDispose]();
    const second = await open({ dir: first.platform.dir });
    expect((await second.call(6, one)).json).toMatchObject({ error: 'rewound', details: { generation: 7 } });
    expect((await second.call(7, other)).json).toMatchObject({ error: 'incarnation_conflict' });
    expect((await second.call(7, one)).status).toBe(200);
  });

  test('does not concern the other sprites', async () => {
    const { platform, report } = await open();
    await report(6, one);
    await platform.admin.createSprite({ organization: 'acme', name: 'dev-2' });
    const token = await platform.admin.createToken({ organization: 'acme', sprite: 'dev-2' });
    const answer = await platform.call({ path: '/v1/sprites/dev-2', token, headers: toHeaders(0, other) });
    expect(answer.status).toBe(200);
  });

  test('loses the gateway calls that it has open when the later incarnation calls', async () => {
    const provider = createServer((_request, response) => void response.write('data: 1\n\n'));
    await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      provider.closeAllConnections();
      provider.close();
    });
    const url = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
    const { platform, token, call } = await open({
      catalogue: [
        {
          provider: 'openai',
          display_name: 'x',
          description: 'of the test',
          address: { type: 'fixed', url },
          injection: { in: 'header', name: 'x-api-key', prefix: '' },
          allow_http: true,
          sample_path: '/',
        },
      ],
    });
    const access_policy = { allow_all: true };
    const api_key = new Secret('k');
    await platform.admin.createConnector({
      organization: 'acme',
      provider: 'openai',
      api_key,
      id: 'conn_1',
      access_policy,
    });
    const stream = (generation: number) => {
      const headers = Object.entries(toHeaders(generation, one)).map(([key, value]) => `${key}: ${value}\r\n`);
      const lines = `Host: x\r\nAuthorization: Bearer ${token.reveal()}\r\n${headers.join('')}`;
      const request = `GET /v1/gateway/openai/conn_1/stream HTTP/1.1\r\n${lines}\r\n`;
      return openRaw(Number(new URL(platform.url).port), request);
    };
    const old = stream(6);
    await old.until(/data: 1/);
    const later = stream(7);
    await later.until(/data: 1/);
    expect(await old.ended).not.toMatch(/0\r\n\r\n$/);
    expect((await call(7, one)).status).toBe(200);
    expect(later.socket.destroyed).toBe(false);
    later.socket.destroy();
    await eventually(() => platform.log.some((line) => line.message === 'gateway call' && line.reason === 'rewound'));
  });
});

describe('headers', () => {
  test('that are absent are not asked for, also after a report', async () => {
    const { platform, report, token } = await open();
    await report(6, one);
    expect((await platform.call({ path: '/v1/sprites/dev-1', token })).status).toBe(200);
  });

  test.each([
    ['-1', one],
    ['1.5', one],
    ['0x5', one],
    ['', one],
    ['1, 1', one],
    ['9007199254740993', one],
    ['5', ''],
    ['5', 'abc'],
    ['5', one.toUpperCase()],
    ['5', `${one}00`],
  ])('%j and %j are malformed', async (generation, incarnation) => {
    const { call } = await open();
    expect(await call(generation, incarnation)).toMatchObject({ status: 400, json: { error: 'invalid_request' } });
  });

  test('one without the other are malformed', async () => {
    const { platform, token } = await open();
    for (const headers of [{ 'remora-generation': '5' }, { 'remora-incarnation': one }]) {
      const answer = await platform.call({ path: '/v1/sprites/dev-1', token, headers });
      expect(answer).toMatchObject({ status: 400, json: { error: 'invalid_request' } });
    }
  });

  test('beside the token of an organization mean nothing', async () => {
    const { platform } = await open();
    for (const [generation, incarnation] of [
      [9, one],
      [3, other],
      ['x', 'y'],
    ] as const) {
      const headers = toHeaders(generation, incarnation);
      expect((await platform.call({ path: '/v1/sprites/dev-1', headers })).status).toBe(200);
    }
  });

  test('beside a token that is not valid are not looked at', async () => {
    const { platform, call } = await open();
    const token = new Secret('nonsense');
    const headers = toHeaders(9, one);
    expect((await platform.call({ path: '/v1/sprites/dev-1', token, headers })).status).toBe(401);
    expect((await call(0, other)).status).toBe(200);
  });
});

describe('a cold start', () => {
  test('forgets the incarnation that was known; a thaw does not', async () => {
    const { platform, call } = await open({ agentCommand: machineCommand() });
    expect((await call(6, one)).status).toBe(200);
    await platform.admin.startMachine(name);
    await eventually(async () => readReport((await platform.admin.readMachine(name)).dir));
    expect((await call(3, other)).status).toBe(200);

    await platform.admin.suspendMachine(name);
    await eventually(async () => (await platform.admin.readMachine(name)).state === 'suspended');
    await platform.admin.startMachine(name);
    expect((await call(2, one)).json).toMatchObject({ error: 'rewound' });

    await platform.admin.stopMachine(name);
    expect((await call(2, one)).json).toMatchObject({ error: 'rewound' });
    await platform.admin.startMachine(name);
    expect((await call(2, one)).status).toBe(200);
  });

  test('is reported with the nonce that the disk kept, as often as the answer is lost', async () => {
    const { platform, report, token } = await open({ agentCommand: machineCommand() });
    const withNonce = (nonce: string) => ({ ...toHeaders(6, one), 'remora-nonce': nonce });
    const call = (nonce: string) => platform.call({ path: '/v1/sprites/dev-1', token, headers: withNonce(nonce) });
    const kept = (await report(6, one)).json.nonce;
    expect((await call(kept)).status).toBe(200);
    await platform.admin.startMachine(name);

    // A call may be on its way beside each report.
    expect((await call(kept)).status).toBe(200);
    expect((await report(6, one, withNonce(kept))).status).toBe(200);
    expect((await call(kept)).status).toBe(200);
    const { status, json } = await report(6, one, withNonce(kept));
    expect(status).toBe(200);
    expect([(await call(json.nonce)).status, (await call(kept)).status]).toEqual([200, 409]);
  });

  test('forgets it on disk too', async () => {
    const first = await open({ agentCommand: machineCommand() });
    await first.call(6, one);
    await first.platform.admin.startMachine(name);
    await first.platform[Symbol.asyncDispose]();
    const second = await open({ dir: first.platform.dir });
    expect((await second.call(1, other)).status).toBe(200);
  });
});
