// Informational answers (1xx) on their way through the proxy: they leave the event loop to others, and a slow caller stops them.
import { createServer } from 'node:http';
import { join } from 'node:path';
import { Agent, buildConnector, type Dispatcher } from 'undici';
import { expect, it, onTestFinished } from 'vitest';
import { joinAnswerChunks } from '../../src/http/join-answer-chunks.ts';
import { sendError } from '../../src/http/reply.ts';
import { streamExchange } from '../../src/http/streaming-proxy.ts';
import { openRaw } from '../support/raw-http.ts';
import { openRawUpstream } from '../support/raw-upstream.ts';
import { tempDir } from '../support/temp-dir.ts';

const hint = (bytes: number) => `HTTP/1.1 103 Early Hints\r\nLink: ${'a'.repeat(bytes)}\r\n\r\n`;
const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
const same = (headers: readonly string[]) => [...headers];

function openAgent(): Agent {
  const agent = new Agent({ connect: joinAnswerChunks(buildConnector({})) });
  onTestFinished(async () => await agent.destroy());
  return agent;
}

/** Returns the path of its socket. It answers `/own` by itself. */
async function openProxy(origin: string, headersTimeout_ms = 60_000): Promise<string> {
  const agent = openAgent();
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    if (path === '/own') {
      response.end('own');
      return;
    }
    const headers = { request: same, response: same, mayShow: () => true };
    const upstream = { dispatcher: () => agent, origin, path, headers, from: 'provider' as const, headersTimeout_ms };
    streamExchange(request, response, upstream).catch((error: unknown) => sendError(response, error));
  });
  const path = join(tempDir(), 's');
  await new Promise<void>((resolve) => server.listen(path, resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return path;
}

/** A caller whose second call has too many informational answers, while the answer to its first call is not there. */
async function openBehindAnother(headersTimeout_ms?: number) {
  const upstream = await openRawUpstream();
  const path = await openProxy(upstream.origin, headersTimeout_ms);
  const caller = openRaw(path, get('/first') + get('/second'));
  const connections = [await upstream.connection(0), await upstream.connection(1)];
  const heads = await Promise.all(connections.map((connection) => connection.until(/\r\n\r\n$/)));
  const [first, second] = heads[0]?.startsWith('GET /first') ? connections : connections.toReversed();
  if (first === undefined || second === undefined) throw new Error('there are no two calls');
  second.socket.write(hint(10).repeat(17));
  return { path, caller, first, second };
}

it('of many upstreams are taken one in each turn of the event loop', async () => {
  const upstream = await openRawUpstream();
  const agent = openAgent();
  let turn = 0;
  let isOver = false;
  const count = () => {
    turn += 1;
    if (!isOver) setImmediate(count);
  };
  onTestFinished(() => {
    isOver = true;
  });
  const turns: number[] = [];
  const calls = Array.from({ length: 8 }, async () => {
    await new Promise<void>((resolve, reject) => {
      const handler: Dispatcher.DispatchHandler = {
        onRequestStart: () => undefined,
        onResponseStart(_controller, status) {
          if (status < 200) turns.push(turn);
        },
        onResponseData: () => undefined,
        onResponseEnd: () => resolve(),
        onResponseError: (_controller, error) => reject(error),
      };
      agent.dispatch({ origin: upstream.origin, path: '/', method: 'GET' }, handler);
    });
  });
  const connections = await Promise.all(calls.map((_call, index) => upstream.connection(index)));
  await Promise.all(connections.map((connection) => connection.until(/\r\n\r\n$/)));
  count();
  const text = `${hint(10_000).repeat(4)}HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok`;
  for (const { socket } of connections) socket.write(text);
  await Promise.all(calls);
  expect(turns).toHaveLength(32);
  expect(new Set(turns).size).toBe(32);
});

it('wait at the upstream while the caller takes none, and go on when it does', async () => {
  const { path, caller, first, second } = await openBehindAnother();
  let isClosed = false;
  void second.closed.then(() => {
    isClosed = true;
  });
  for (let made = 0; made < 50; made += 1) await openRaw(path, get('/own')).until(/own$/);
  expect(isClosed).toBe(false);
  first.socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
  const text = await caller.until(/HTTP\/1.1 502 /);
  expect(text.indexOf('HTTP/1.1 200 ')).toBe(0);
  expect(text.match(/HTTP\/1.1 103 /g)).toHaveLength(16);
  await second.closed;
});

it('have the deadline of the answer while they wait', async () => {
  const { caller, first, second } = await openBehindAnother(1_500);
  await Promise.all([first.closed, second.closed]);
  const text = await caller.until(/HTTP\/1.1 504 .*HTTP\/1.1 504 /s);
  expect(text.match(/HTTP\/1.1 103 /g)).toHaveLength(1);
});
