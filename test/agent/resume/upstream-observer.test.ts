import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openUpstreamObserver } from '../../../src/agent/resume/upstream-observer.ts';
import { createUpstream } from '../../../src/agent/upstream.ts';
import { eventually } from '../../support/eventually.ts';

const DATE = 'Thu, 15 Jan 2026 12:00:00 GMT';

async function rig() {
  const server: Server = createServer((request, response) => {
    if (request.url === '/break') {
      request.socket.resetAndDestroy();
      return;
    }
    const date = request.url === '/odd' ? 'yesterday' : DATE;
    response.writeHead(200, { date });
    response.end('ok');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const upstream = createUpstream();
  const dates: [string, number][] = [];
  const took_ms: number[] = [];
  const failures: string[] = [];
  const observer = openUpstreamObserver({
    noteDate(from, date_ms, took) {
      // The observer hears of every request of this process, also of what another test has left under way.
      if (from !== origin) return;
      dates.push([from, date_ms]);
      took_ms.push(took);
    },
    noteFailure: (from) => void (from === 'http://127.0.0.1:1' || from === origin ? failures.push(from) : undefined),
  });
  onTestFinished(async () => {
    observer[Symbol.dispose]();
    await upstream[Symbol.asyncDispose]();
    server.closeAllConnections();
    server.close();
  });
  const get = async (path: string) => {
    const answer = await upstream.dispatcher.request({ origin, path, method: 'GET' });
    await answer.body.dump();
  };
  return { origin, dates, took_ms, failures, get, observer };
}

describe('the observer of upstreams', () => {
  test('tells the Date of each answer with its origin, and how long it took', async () => {
    const { get, dates, took_ms, origin } = await rig();
    await get('/status');
    expect(took_ms[0]).toBeGreaterThan(0);
    expect(dates).toEqual([[origin, Date.parse(DATE)]]);
  });

  test('leaves out what came through the gateway, and what is no date', async () => {
    const { get, dates } = await rig();
    await get('/v1/gateway/openai/conn_1/v1/models');
    await get('/odd');
    expect(dates).toEqual([]);
  });

  test('tells connections that break in use, and not those that cannot be made', async () => {
    const { get, failures, origin } = await rig();
    await expect(get('/break')).rejects.toThrow();
    await eventually(() => failures.length > 0);
    expect(failures).toEqual([origin]);
    const upstream = createUpstream();
    onTestFinished(() => upstream[Symbol.asyncDispose]());
    await expect(
      upstream.dispatcher.request({ origin: 'http://127.0.0.1:1', path: '/', method: 'GET' }),
    ).rejects.toThrow();
    expect(failures).toEqual([origin]);
  });

  test('hears nothing after its end', async () => {
    const { get, dates, observer } = await rig();
    observer[Symbol.dispose]();
    await get('/status');
    expect(dates).toEqual([]);
  });
});
