// The log of the calls: bounded by number and age, off the path of the calls, and honest when the disk is full, held by somebody else,
// silent, or not to be used at all.
import { mkdirSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type AuditPart, isBlock } from '../../../../src/agent/gateway/audit/audit-block.ts';
import { type AuditLog, createAuditLog } from '../../../../src/agent/gateway/audit/audit-log.ts';
import {
  type AuditAnswer,
  type AuditLink,
  countOfRow,
  toAuditRow,
} from '../../../../src/agent/gateway/audit/audit-request.ts';
import { createAuditStore } from '../../../../src/agent/gateway/audit/audit-store.ts';
import { createAuditThread } from '../../../../src/agent/gateway/audit/audit-thread.ts';
import { auditSchema } from '../../../../src/agent/gateway/gateway-schema.ts';
import type { GatewayRecord } from '../../../../src/contract/local/gateway.ts';
import { systemClock } from '../../../../src/core/clock.ts';
import { RemoraError } from '../../../../src/core/remora-error.ts';
import { openDatabase } from '../../../../src/sqlite/open.ts';
import { ask } from '../../../support/ask.ts';
import { openGatewayAgent } from '../../../support/gateway-agent.ts';
import { readGatewayLog } from '../../../support/gateway-log.ts';
import { soon } from '../../../support/soon.ts';
import { openStandInPlatform } from '../../../support/stand-in-platform.ts';
import { tempDir } from '../../../support/temp-dir.ts';

const connectors = [{ id: 'conn_1', provider: 'openai', access_policy: { allow_all: true } }];
const target = '/v1/gateway/openai/conn_1/v1/x';
const entry = {
  provider: 'p',
  connector_id: 'c',
  method: 'GET',
  path: '/',
  decision: 'allow',
  code: null,
  rule: null,
  status: 200,
  ended: null,
  request_bytes: 0,
  response_bytes: 0,
  ms: 0,
  input_tokens: null,
  output_tokens: null,
} as const;

/** A disk on the thread of the test, which can be filled, emptied and stopped. */
function openDisk(limits: { maxRows?: number; maxAge_ms?: number } = {}) {
  const { db } = openDatabase(join(tempDir(), 'log.db'), { migrations: auditSchema });
  const store = createAuditStore(() => ({ db, state: 'file', reason: undefined }), {
    maxRows: 20_000,
    maxAge_ms: 3_600_000,
    ...limits,
  });
  let isStopped = false;
  const link: AuditLink = {
    ask: (request) => (isStopped ? new Promise<AuditAnswer>(() => undefined) : Promise.resolve(store.answer(request))),
    rest: async () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  };
  return {
    link,
    fill: () => db.pragma(`max_page_count = ${db.pragma('page_count', { simple: true })}`),
    empty: () => db.pragma('max_page_count = 1000000'),
    stop: () => {
      isStopped = true;
    },
  };
}

function openLog(link: AuditLink, clock = systemClock): AuditLog {
  const log = createAuditLog({ link, clock, onProblem: () => undefined });
  onTestFinished(() => log[Symbol.asyncDispose]());
  return log;
}

const callsOf = (part: AuditPart) => (isBlock(part) ? part.calls : countOfRow(part));

/** Resolves when its thread runs: a busy machine may need longer to start it than a page, a rest and an end wait. */
const isReady = (log: AuditLog) => soon(() => log.page(1));

const numbersOf = async (log: AuditLog) => (await log.page(100)).records.map(({ seq }) => seq);

describe('the log', () => {
  it('keeps the newest rows only', async () => {
    const log = openLog(openDisk({ maxRows: 3 }).link);
    for (let index = 0; index < 10; index += 1) log.add(entry);
    expect(await numbersOf(log)).toEqual([8, 9, 10]);
  });

  it('of many calls has each with its number and in its order, however it is read, and the newest of them', async () => {
    const path = join(tempDir(), 'log.db');
    const limits = { path, maxRows: 400, maxAge_ms: 3_600_000 };
    const first = openLog(createAuditThread(limits));
    for (let index = 1; index <= 350; index += 1) first.add({ ...entry, path: `/${index}`, ms: index });
    await isReady(first);
    await first[Symbol.asyncDispose]();
    const log = openLog(createAuditThread(limits));
    await isReady(log);
    for (let index = 351; index <= 700; index += 1) log.add({ ...entry, path: `/${index}`, input_tokens: index });
    const shown = ({ seq, path, time, usage_known }: GatewayRecord) => ({ seq, path, usage_known, time: typeof time });
    const expected = (from: number, to: number) =>
      Array.from({ length: to - from + 1 }, (_, index) => from + index).map((seq) => ({
        seq,
        path: `/${seq}`,
        usage_known: seq > 350,
        time: 'string',
      }));
    expect((await log.page(30)).records.map(shown)).toEqual(expected(671, 700));
    expect((await log.page(1_000)).records.map(shown)).toEqual(expected(301, 700));
    const read: GatewayRecord[] = [];
    for (let after: number | null = 0; after !== null; ) {
      const page = await log.page(90, after);
      read.push(...page.records);
      after = page.next;
    }
    expect(read.map(shown)).toEqual(expected(301, 700));
  });

  it('goes on with the rows of a version that had no count', async () => {
    const path = join(tempDir(), 'log.db');
    const { db } = openDatabase(path, { migrations: auditSchema.slice(0, 1) });
    db.exec(`INSERT INTO gateway_log (time, provider, connector_id, method, path, decision, status, request_bytes, response_bytes, ms)
             VALUES (1, 'p', 'c', 'GET', '/', 'allow', 200, 0, 0, 0), (2, 'p', 'c', 'GET', '/', 'deny', 403, 0, 0, 0)`);
    db.close();
    const log = openLog(createAuditThread({ path, maxRows: 1, maxAge_ms: Number.MAX_SAFE_INTEGER }));
    log.add(entry);
    await isReady(log);
    const { records } = await log.page(10);
    expect(records.map(({ seq, decision, count }) => `${seq} ${decision} ${count}`)).toEqual(['2 deny 1', '3 allow 1']);
  });

  it('lets go of what is too old at the next write', async () => {
    let now_ms = Date.parse('2026-01-01T00:00:00Z');
    const log = openLog(openDisk({ maxAge_ms: 10_000_000 }).link, { wall_ms: () => now_ms, mono_ms: () => 0 });
    for (const kept of [[1], [1, 2], [2, 3]]) {
      log.add(entry);
      expect(await numbersOf(log)).toEqual(kept);
      now_ms += 9_000_000;
    }
  });
});

describe('refusals', () => {
  const refused = { ...entry, method: 'TRACE', decision: 'reject', code: 'method_not_allowed', status: 405 } as const;
  const blocked = { ...entry, decision: 'deny', code: 'endpoint_blocked', rule: '/x', status: 403 } as const;
  const limited = { ...entry, code: 'too_many_requests', status: 429 } as const;
  const shown = async (log: AuditLog) =>
    (await log.page(1_000)).records.map(({ path, count, code }) => `${code ?? 'sent'} ${path} ${count}`);

  it('that are equal are one record with their number, each kind for itself, and sent calls one each', async () => {
    const log = openLog(openDisk().link);
    for (let round = 0; round < 100; round += 1) {
      for (const each of [refused, blocked, limited, { ...refused, path: '/other' }, entry]) log.add(each);
    }
    const records = await shown(log);
    expect(records.filter((text) => text === 'sent / 1')).toHaveLength(100);
    expect(records.filter((text) => text !== 'sent / 1').sort()).toEqual([
      'endpoint_blocked / 100',
      'method_not_allowed / 100',
      'method_not_allowed /other 100',
      'too_many_requests / 100',
    ]);
    log.add(refused);
    log.add(refused);
    expect((await shown(log)).at(-1)).toBe('method_not_allowed / 2');
  });

  it('are gathered for ten seconds before they are written again', async () => {
    let mono = 0;
    const asked: string[] = [];
    const { link } = openDisk();
    const watched: AuditLink = {
      ...link,
      ask: (request) => {
        if (request.type === 'write') asked.push(request.parts.map(callsOf).join(','));
        return link.ask(request);
      },
    };
    const log = openLog(watched, { wall_ms: () => mono, mono_ms: () => mono });
    log.add(refused);
    await soon(() => expect(asked).toEqual(['1']));
    for (; mono < 9_000; mono += 3_000) {
      log.add(refused);
      log.add(entry);
      await soon(() => expect(asked).toHaveLength(2 + mono / 3_000));
    }
    expect(asked).toEqual(['1', '1', '1', '1']);
    mono = 10_001;
    log.add(entry);
    await soon(() => expect(asked.at(-1)).toMatch(/^(3,1|1,3)$/));
  });

  it('of any number of kinds push out no sent or blocked call, on disk and while it is full', async () => {
    const disk = openDisk({ maxRows: 20 });
    const log = openLog(disk.link);
    for (let index = 0; index < 5; index += 1) {
      log.add({ ...entry, path: `/sent-${index}` });
      log.add({ ...blocked, path: `/blocked-${index}` });
    }
    await log.page(1);
    const flood = async (count: number) => {
      for (let index = 0; index < count; index += 1) log.add({ ...refused, path: `/${index}` });
      return await log.page(1_000);
    };
    const { records } = await flood(3_000);
    const kinds = (code: string | null) => records.filter((record) => record.code === code).length;
    expect([kinds(null), kinds('endpoint_blocked'), kinds('method_not_allowed')]).toEqual([5, 5, 10]);
    disk.fill();
    const path = `/${'x'.repeat(2_000)}`;
    for (let index = 0; index < 100; index += 1) log.add({ ...entry, path });
    for (let round = 0; round < 4; round += 1) await flood(3_000 + round);
    disk.empty();
    const page = await log.page(1_000);
    expect(page.records.filter((record) => record.code === null)).toHaveLength(20);
    expect(page.lost).toBeGreaterThan(0);
  });

  it('of 1,500 calls through the socket leave one record beside the call that was made before', async () => {
    const platform = await openStandInPlatform({ connectors });
    const agent = await openGatewayAgent(platform.url);
    expect((await ask(agent.path, { target })).status).toBe(200);
    const http = new Agent({ keepAlive: true, maxSockets: 8 });
    onTestFinished(() => http.destroy());
    const trace = () => ask(agent.path, { method: 'TRACE', target, agent: http });
    for (let round = 0; round < 15; round += 1) await Promise.all(Array.from({ length: 100 }, trace));
    const { records } = await readGatewayLog(agent.path, '?limit=1000');
    expect(records.filter(({ method }) => method === 'GET')).toHaveLength(1);
    const traced = records.filter(({ method }) => method === 'TRACE');
    expect(traced.reduce((sum, { count }) => sum + count, 0)).toBe(1_500);
    expect(traced.length).toBeLessThan(10);
  });
});

describe('a full disk', () => {
  it('is said, costs the oldest records at the most, and loses none of those that wait when there is room again', async () => {
    const disk = openDisk();
    const log = openLog(disk.link);
    log.add(entry);
    expect(await numbersOf(log)).toEqual([1]);
    disk.fill();
    const path = `/${'x'.repeat(2_000)}`;
    for (let index = 0; index < 100; index += 1) log.add({ ...entry, path });
    expect(await numbersOf(log)).toEqual([1]);
    expect(log.problem).toMatch(/cannot be written: .*full/);
    disk.empty();
    const page = await log.page(1_000);
    expect(page.records).toHaveLength(101);
    expect(page.lost).toBe(0);
    expect(log.problem).toBeUndefined();
  });

  it('loses the oldest records, and counts them, once too many wait', async () => {
    const disk = openDisk();
    const log = openLog(disk.link);
    disk.fill();
    for (let index = 0; index < 6_000; index += 1) log.add({ ...entry, ms: index, path: `/${'x'.repeat(2_000)}` });
    expect((await log.page(1)).lost).toBe(1_000);
    disk.empty();
    expect((await log.page(1, 0)).records).toMatchObject([{ ms: 1_000 }]);
  });
});

describe('a disk that does not answer', () => {
  it('is said; records wait within their limit; a page is refused in time', async () => {
    const disk = openDisk();
    const log = openLog(disk.link);
    disk.stop();
    for (let index = 0; index < 10; index += 1) log.add(entry);
    const started_ms = performance.now();
    await expect(log.page(1)).rejects.toMatchObject({ code: 'not_ready' });
    expect(performance.now() - started_ms).toBeLessThan(20_000);
    await soon(() => expect(log.problem).toMatch(/does not answer/));
    for (let index = 0; index < 6_000; index += 1) log.add(entry);
    const ended_ms = performance.now();
    await log[Symbol.asyncDispose]();
    expect(performance.now() - ended_ms).toBeLessThan(20_000);
  });
});

describe('calls', () => {
  it('that are abandoned at the end of a process leave their records also on a disk that takes more than a second', async () => {
    const { link } = openDisk();
    const slow: AuditLink = {
      ...link,
      ask: async (request) => {
        await sleep(1_200);
        return await link.ask(request);
      },
    };
    const platform = await openStandInPlatform({ connectors, onGateway: (request) => void request.resume() });
    const agent = await openGatewayAgent(platform.url, { auditLink: slow });
    const call = ask(agent.path, { target });
    await soon(() => expect(platform.calls).toHaveLength(1));
    await agent.gateway.abandon(new RemoraError('shutting_down', 'the agent ends'));
    expect(await link.ask({ type: 'page', limit: 10, after: undefined })).toMatchObject({
      records: [{ code: 'shutting_down' }],
    });
    expect((await call).status).toBe(503);
  });

  it('do not wait while somebody else holds the file, and none of their records is lost', async () => {
    const platform = await openStandInPlatform({ connectors });
    const agent = await openGatewayAgent(platform.url);
    expect((await ask(agent.path, { target })).status).toBe(200);
    await readGatewayLog(agent.path);
    const { db } = openDatabase(join(agent.dir, 'gateway-log.db'), { migrations: auditSchema });
    onTestFinished(() => void db.close());
    let calls = 1;
    /** The longest that a call took while the file was held for so long that its writes have begun to wait. */
    async function hold_ms(): Promise<number> {
      let slowest_ms = 0;
      db.exec('BEGIN IMMEDIATE');
      const end_ms = performance.now() + 2_500;
      while (performance.now() < end_ms) {
        const started_ms = performance.now();
        expect((await ask(agent.path, { target })).status).toBe(200);
        slowest_ms = Math.max(slowest_ms, performance.now() - started_ms);
        calls += 1;
        await sleep(20);
      }
      db.exec('ROLLBACK');
      return slowest_ms;
    }
    // Again where the machine itself made a call wait.
    for (let round = 1; (await hold_ms()) >= 2_000; round += 1) expect(round).toBeLessThan(5);
    await soon(async () => {
      expect(await readGatewayLog(agent.path, '?limit=1000')).toMatchObject({ lost: 0, records: { length: calls } });
    });
  });

  it('go on without a file, which the part says', async () => {
    const dir = tempDir();
    mkdirSync(join(dir, 'gateway-log.db'));
    const platform = await openStandInPlatform({ connectors });
    const agent = await openGatewayAgent(platform.url, { databasePath: join(dir, 'agent.db') });
    expect((await ask(agent.path, { target })).status).toBe(200);
    expect(await readGatewayLog(agent.path)).toMatchObject({ records: [{ status: 200 }] });
    await soon(() =>
      expect(agent.board.statuses().gateway).toMatchObject({
        state: 'degraded',
        reason: expect.stringContaining('gateway-log.db'),
      }),
    );
  });
});

describe('the thread', () => {
  const data = () => ({ path: join(tempDir(), 'log.db'), maxRows: 10, maxAge_ms: 3_600_000 });
  const parts = [toAuditRow(entry, 1)];

  it('ends when nothing is asked for a while, and the rows are there for the next one', async () => {
    const place = data();
    const link = createAuditThread(place, 50);
    onTestFinished(() => link[Symbol.asyncDispose]());
    expect(await link.ask({ type: 'write', parts })).toEqual({ type: 'written', problem: undefined });
    expect(link.isRunning).toBe(true);
    await soon(() => expect(link.isRunning).toBe(false));
    const page = await link.ask({ type: 'page', limit: 10, after: undefined });
    expect(page).toMatchObject({ type: 'page', records: [{ seq: 1 }] });
  });

  it('rests once what is queued is written, before a suspend, and goes on after it', async () => {
    const link = createAuditThread(data());
    const log = openLog(link);
    await isReady(log);
    log.add(entry);
    await log.settle(60_000);
    expect(link.isRunning).toBe(false);
    log.add(entry);
    await isReady(log);
    expect(await numbersOf(log)).toEqual([1, 2]);
  });

  it('writes what it was given before it ends', async () => {
    const place = data();
    const link = createAuditThread(place);
    await link.ask({ type: 'page', limit: 1, after: undefined });
    void link.ask({ type: 'write', parts });
    await link[Symbol.asyncDispose]();
    const { db } = openDatabase(place.path, { migrations: auditSchema });
    onTestFinished(() => void db.close());
    expect(db.prepare('SELECT count(*) AS count FROM gateway_log').get()).toEqual({ count: 1 });
  });
});
