// What an agent reports of its incarnation, and what it makes of the answers: against a real platform.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createUpstream } from '../../../src/agent/upstream.ts';
import { fencedOffFields, resumeReporterStatus } from '../../../src/contract/local/resume-reports.ts';
import { resumeReport } from '../../../src/contract/resume-reports.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { Secret } from '../../../src/core/secret.ts';
import { openFreePort } from '../../support/free-port.ts';
import { openTestPlatform, type TestPlatform, type TestPlatformOptions } from '../../support/open-platform.ts';
import { createReportAgent, type ReportAgentOptions } from '../../support/report-agent.ts';
import { soon } from '../../support/soon.ts';

const name = { organization: 'acme', sprite: 'dev-1' } as const;

async function toConfig(platform: TestPlatform) {
  const { app, id } = await platform.admin.readMachine(name);
  return { baseUrl: platform.url, token: await platform.admin.createToken(name), app, machine: id };
}

async function open(options: TestPlatformOptions = {}, more: Omit<ReportAgentOptions, 'config'> = {}) {
  const platform = await openTestPlatform(options);
  if ((await platform.admin.findSprite(name)) === undefined) {
    await platform.admin.createSprite({ organization: 'acme', name: name.sprite });
  }
  const config = await toConfig(platform);
  const agent = createReportAgent({ config, ...more });
  /** Another machine of the same snapshot. */
  const clone = () => createReportAgent({ config, incarnation: agent.incarnation });
  const reports = () => platform.log.filter((line) => 'reason' in line && 'holds' in line);
  return { platform, config, agent, clone, reports };
}

type Agent = ReturnType<typeof createReportAgent>;
const settled = async (agent: Agent) => {
  await expect.poll(() => agent.report.status().at).not.toBeNull();
  return resumeReporterStatus.parse(agent.report.status());
};
/** Any call of the agent that is no report. */
async function call(agent: Agent, platform: TestPlatform): Promise<number> {
  const { statusCode, body } = await agent.upstream.dispatcher.request({
    origin: platform.url,
    path: `/v1/sprites/${name.sprite}`,
    method: 'GET',
    headers: { ...agent.headers, authorization: `Bearer ${(await platform.admin.createToken(name)).reveal()}` },
  });
  await body.dump();
  return statusCode;
}

describe('a start', () => {
  test('is reported with the incarnation and the holds', async () => {
    const { agent, reports } = await open();
    expect(agent.report.status()).toEqual({
      at: null,
      ok: null,
      nonce: false,
      clock_offset_ms: null,
      clock_uncertainty_ms: null,
      reconnect_spread_ms: 0,
    });
    agent.start();
    expect(await settled(agent)).toMatchObject({ ok: true, nonce: true });
    expect(reports()).toEqual([
      expect.objectContaining({
        ...agent.incarnation,
        reason: 'start',
        gap_ms: null,
        wall_skew_ms: null,
        holds: ['build'],
      }),
    ]);
    expect(agent.fences).toEqual([]);
  });

  test('again, of the same incarnation, is taken again', async () => {
    const { agent, config, reports } = await open();
    agent.start();
    await settled(agent);
    await agent.stop();
    const again = createReportAgent({ config, incarnation: agent.incarnation, nonce: agent.headers['remora-nonce'] });
    again.start();
    expect(await settled(again)).toMatchObject({ ok: true });
    expect(reports()).toHaveLength(2);
  });

  test('is reported as soon as the platform is there', async () => {
    const port = await openFreePort();
    const first = await open({ listen: { host: '127.0.0.1', port } });
    await first.platform[Symbol.asyncDispose]();
    first.agent.start();
    expect(await settled(first.agent)).toMatchObject({
      ok: false,
      reason: expect.stringMatching(/ECONNREFUSED|other side/),
    });
    const second = await open({ dir: first.platform.dir, listen: { host: '127.0.0.1', port } });
    await expect.poll(() => first.agent.report.status().ok).toBe(true);
    expect(second.reports()).toHaveLength(1);
  });

  test('that is refused for its token is told and not tried again', async () => {
    const { config, reports } = await open();
    const agent = createReportAgent({ config: { ...config, token: new Secret('nonsense') } });
    agent.start();
    expect(await settled(agent)).toMatchObject({ ok: false, reason: expect.stringContaining('401 unauthorized') });
    expect(reports()).toEqual([]);
  });

  test('that something else than the platform has answered is reported again', async () => {
    let asked = 0;
    const server = createServer((_request, response) => {
      asked += 1;
      if (asked === 1) response.writeHead(404, { 'content-type': 'text/html' }).end('<h1>nginx</h1>');
      else if (asked === 2) response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>welcome</h1>');
      else {
        response.setHeader('content-type', 'application/json');
        response.end('{"server_time":"2026-01-02T03:04:05.678Z","reconnect_spread_ms":0}');
      }
    });
    const config = { baseUrl: await serve(server), token: new Secret('t'), app: 'a', machine: 'm' };
    const agent = createReportAgent({ config });
    agent.start();
    expect(await settled(agent)).toMatchObject({
      ok: false,
      reason: '404 status_404: the answer 404 does not come from the platform',
    });
    await soon(() => expect(agent.report.status().ok).toBe(true));
    expect(asked).toBe(3);
  });

  test.each(['baseUrl', 'token', 'app', 'machine'] as const)(
    'without %s is not reported, and says so',
    async (field) => {
      const { config } = await open();
      const agent = createReportAgent({ config: { ...config, [field]: undefined } });
      agent.start();
      expect(agent.report.steps()).toEqual([]);
      expect(resumeReporterStatus.parse(agent.report.status())).toMatchObject({ at: null, ok: null, reason: /off/ });
    },
  );
});

describe('the clock of the platform', () => {
  test('is compared with ours', async () => {
    const ahead = { ...systemClock, wall_ms: () => systemClock.wall_ms() + 60_000 };
    const { agent } = await open({ clock: ahead });
    const begun_ms = performance.now();
    agent.start();
    const { clock_offset_ms, clock_uncertainty_ms } = await settled(agent);
    const passed_ms = performance.now() - begun_ms;
    expect(Math.abs((clock_offset_ms ?? 0) - 60_000)).toBeLessThanOrEqual((clock_uncertainty_ms ?? 0) + 2);
    expect(clock_uncertainty_ms).toBeLessThanOrEqual(passed_ms);
  });
});

describe('a resume', () => {
  test('is reported as a step, with what is known of it', async () => {
    const { agent, reports } = await open();
    agent.start();
    await settled(agent);
    expect(await agent.resume()).toMatchObject([{ name: 'report', ok: true }]);
    const [, told] = reports();
    expect(resumeReport.parse(told)).toEqual({
      ...agent.incarnation,
      reason: 'restore',
      gap_ms: 14_000,
      wall_skew_ms: 13_000,
      holds: ['build'],
      version: '1.2.3',
      signals: ['generation', 'rtc'],
    });
    expect(agent.incarnation.generation).toBe(1);
  });

  test('lets callers go on with the nonce of its answer, which one of their calls confirms before it does', async () => {
    const served = Promise.withResolvers<void>();
    const { agent, clone, platform } = await open({}, { callersFirst: () => served.promise });
    const other = clone();
    const resuming = agent.resume();
    await agent.report.mayCall();
    expect(agent.headers).toHaveProperty('remora-nonce');
    expect(agent.report.status().ok).toBeNull();
    expect(await call(agent, platform)).toBe(200);
    expect(await other.resume()).toMatchObject([{ name: 'report', ok: false }]);
    expect(await call(other, platform)).toBe(409);
    served.resolve();
    expect(await resuming).toMatchObject([{ name: 'report', ok: true }]);
    expect(agent.report.status()).toMatchObject({ ok: true, nonce: true });
  });

  test('with a platform that hangs ends within the deadline, and is reported later', async () => {
    let hang = true;
    const server = createServer((_request, response) => {
      if (hang) return;
      response.setHeader('content-type', 'application/json');
      response.end('{"server_time":"2026-01-02T03:04:05.678Z","reconnect_spread_ms":0}');
    });
    const url = await serve(server);
    const config = { baseUrl: url, token: new Secret('t'), app: 'a', machine: 'm' };
    const agent = createReportAgent({ config, deadlines: 'as it is' });
    expect(await agent.resume()).toMatchObject([
      { name: 'report', ok: false, reason: expect.stringMatching(/2000 ms/) },
    ]);
    hang = false;
    await expect.poll(() => agent.report.status().ok).toBe(true);
  });

  test('in the middle of a report leaves the former one without a trace', async () => {
    const { agent, reports } = await open();
    agent.start();
    await agent.resume();
    await agent.resume();
    expect(agent.report.status()).toMatchObject({ ok: true });
    expect(reports().at(-1)).toMatchObject({ generation: 2, reason: 'restore' });
    expect(agent.events).toEqual([]);
  });
});

describe('the second of two machines of one snapshot', () => {
  test('learns it, tells it once, and says what to do', async () => {
    const { agent, clone, platform } = await open();
    const other = clone();
    await agent.resume();
    expect(await other.resume()).toMatchObject([
      { name: 'report', ok: false, reason: expect.stringMatching(/snapshot/) },
    ]);
    expect(other.events).toEqual([{ type: 'fenced_off', code: 'incarnation_conflict', known_generation: 1 }]);
    expect(fencedOffFields.parse(other.events[0])).toBeDefined();
    expect(other.fences).toEqual([expect.stringMatching(/remora machine adopt/)]);
    expect(other.report.status()).toMatchObject({ ok: false, reason: other.fences[0] });
    expect(await call(other, platform)).toBe(409);
    expect(await call(agent, platform)).toBe(200);
    expect(agent.events).toEqual([]);
    expect(other.events).toHaveLength(1);
  });

  test('is told again when it is resumed and refused again, and served when it is the later one', async () => {
    const { agent, clone } = await open();
    const other = clone();
    for (let count = 0; count < 3; count += 1) await agent.resume();
    await other.resume();
    await other.resume();
    expect(other.events.map(({ code, known_generation }) => [code, known_generation])).toEqual([
      ['rewound', 3],
      ['rewound', 3],
    ]);
    await other.resume();
    expect(other.events[2]).toMatchObject({ code: 'incarnation_conflict', known_generation: 3 });
    expect(await other.resume()).toMatchObject([{ ok: true }]);
    expect(other.fences.at(-1)).toBeUndefined();
    expect(other.report.status()).toMatchObject({ ok: true });
  });
});

describe('a machine that was served until a later copy called', () => {
  test('learns it from any call that is refused', async () => {
    const { agent, clone, platform } = await open();
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    agent.start();
    await soon(() => expect(agent.report.status().ok).toBe(true));
    const other = clone();
    await other.resume();
    expect(await call(agent, platform)).toBe(409);
    expect(agent.events).toEqual([]);
    await vi.advanceTimersByTimeAsync(5_000);
    vi.useRealTimers();
    await expect.poll(() => agent.events).toEqual([{ type: 'fenced_off', code: 'rewound', known_generation: 1 }]);
    expect(agent.fences).toEqual([expect.stringMatching(/generation 1/)]);
  });
});

async function serve(server: ReturnType<typeof createServer>): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('a 409 of a provider is no word about this machine', async () => {
  let reports = 0;
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    if (request.url?.endsWith('/resumed')) {
      reports += 1;
      response.setHeader('content-type', 'application/json');
      response.end('{"server_time":"2026-01-02T03:04:05.678Z","reconnect_spread_ms":0}');
    } else if (request.url === '/ours') response.writeHead(409, { 'remora-error': 'rewound' }).end();
    else response.writeHead(409, request.url === '/held' ? { 'remora-error': 'held' } : {}).end('{"error":"rewound"}');
  };
  const url = await serve(createServer(answer));
  const elsewhere = await serve(
    createServer((_request, response) => response.writeHead(409, { 'remora-error': 'rewound' }).end()),
  );
  const agent = createReportAgent({ config: { baseUrl: url, token: new Secret('t'), app: 'a', machine: 'm' } });
  const get = async (origin: string, path: string) => {
    const { statusCode, body } = await agent.upstream.dispatcher.request({ origin, path, method: 'GET' });
    await body.dump();
    expect(statusCode).toBe(409);
  };
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  agent.start();
  await soon(() => expect(agent.report.status().ok).toBe(true));
  await get(url, '/theirs');
  await get(url, '/held');
  await get(elsewhere, '/ours');
  await vi.advanceTimersByTimeAsync(60_000);
  expect([reports, vi.getTimerCount()]).toEqual([1, 0]);
  await get(url, '/ours');
  await vi.advanceTimersByTimeAsync(5_000);
  vi.useRealTimers();
  await expect.poll(() => reports).toBe(2);
});

describe('the spread', () => {
  test('that the platform asks for is kept, and used at the next resume', async () => {
    const { agent, platform } = await open({ reconnectSpread_ms: 400 });
    await platform.admin.createSprite({ organization: 'acme', name: 'dev-2' });
    const neighbour = await platform.admin.readMachine({ organization: 'acme', sprite: 'dev-2' });
    const token = await platform.admin.createToken({ organization: 'acme', sprite: 'dev-2' });
    const config = { baseUrl: platform.url, token, app: neighbour.app, machine: neighbour.id };
    const second = createReportAgent({ config });
    expect((await second.resume()).map(({ name }) => name)).toEqual(['report']);
    expect((await agent.resume()).map(({ name }) => name)).toEqual(['report']);
    expect([second.spread.ms, agent.spread.ms]).toEqual([0, 400]);
    expect(agent.report.status()).toMatchObject({ reconnect_spread_ms: 400 });
    const steps = await agent.resume();
    expect(steps.map(({ name, ok }) => [name, ok])).toEqual([
      ['spread', true],
      ['report', true],
    ]);
  });

  test('holds back what the agent sends of its own accord, and nothing when there is none', async () => {
    const config = { baseUrl: 'http://127.0.0.1:9', token: new Secret('t'), app: 'a', machine: 'm' };
    const alone = createReportAgent({ config });
    alone.report.onResumed();
    expect(alone.report.isHeldBack).toBe(false);
    await alone.report.mayGoOut(new AbortController().signal);

    const agent = createReportAgent({ config, spread: { ms: 300_000 } });
    expect(agent.report.isHeldBack).toBe(false);
    agent.report.onResumed();
    expect(agent.report.isHeldBack).toBe(true);
    const stop = new AbortController();
    let out = false;
    const waiting = agent.report.mayGoOut(stop.signal).then(() => {
      out = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(out).toBe(false);
    stop.abort();
    await waiting;
  });

  test('of a second brings 60 machines that are resumed at once in one after the other', async () => {
    const arrivals_ms: number[] = [];
    const server = createServer((_request, response) => {
      arrivals_ms.push(performance.now());
      response.setHeader('content-type', 'application/json');
      response.end('{"server_time":"2026-01-02T03:04:05.678Z","reconnect_spread_ms":1000}');
    });
    const url = await serve(server);
    const upstream = createUpstream();
    onTestFinished(() => upstream[Symbol.asyncDispose]());
    const fleet = Array.from({ length: 60 }, (_, index) =>
      createReportAgent({
        config: { baseUrl: url, token: new Secret('t'), app: 'a', machine: `machine-${index}` },
        spread: { ms: 1_000 },
        upstream,
      }),
    );
    const begun_ms = performance.now();
    // What comes evenly in the same second comes at once after this process has stood still, too.
    const even_ms: number[] = [];
    const even = fleet.map(async (_, index) => {
      await sleep((index * 1_000) / fleet.length);
      even_ms.push(performance.now());
    });
    await Promise.all([...fleet.map((agent) => agent.resume()), ...even]);
    expect(arrivals_ms).toHaveLength(60);
    const most = (times_ms: readonly number[]) => {
      const slots = new Map<number, number>();
      for (const at_ms of times_ms) {
        const slot = Math.floor((at_ms - begun_ms) / 100);
        slots.set(slot, (slots.get(slot) ?? 0) + 1);
      }
      return Math.max(...slots.values());
    };
    const width = (times_ms: readonly number[]) => Math.max(...times_ms) - Math.min(...times_ms);
    expect(most(arrivals_ms)).toBeLessThanOrEqual(3 * Math.max(6, most(even_ms)));
    expect(width(arrivals_ms)).toBeGreaterThan(0.7 * Math.min(1_000, width(even_ms)));
  });
});
