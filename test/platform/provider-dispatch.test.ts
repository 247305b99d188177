// The way of calls to providers: over which connections they go, and that addresses which customers name do not add up.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Dispatcher } from 'undici';
import { expect, onTestFinished, test } from 'vitest';
import { createProviderDispatch } from '../../src/platform/upstream/provider-dispatch.ts';

async function open({ keeps = true } = {}) {
  const server = createServer({ keepAliveTimeout: 120_000 }, (_request, response) => {
    response.writeHead(200, keeps ? {} : { connection: 'close' }).end('ok');
  });
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve));
  const { port } = server.address() as AddressInfo;
  const left: string[] = [];
  const rest: Pick<Dispatcher, 'dispatch'> = {
    dispatch({ origin }, handler) {
      left.push(String(origin));
      handler.onResponseError?.({} as Dispatcher.DispatchController, new Error('left to the other client'));
      return true;
    },
  };
  const calls = createProviderDispatch({ rest, connectTimeout_ms: 20_000, keepAlive_ms: 100_000 });
  onTestFinished(() => {
    calls.destroy(new Error('the test is over'));
    server.closeAllConnections();
    server.close();
  });
  const call = (origin: string, method = 'GET') =>
    new Promise<string>((resolve) => {
      let text = '';
      calls.dispatch(
        { origin, path: '/', method, headers: [] },
        {
          onResponseData: (_controller, chunk) => {
            text += chunk.toString();
          },
          onResponseEnd: () => resolve(text),
          onResponseError: (_controller, error) => resolve(error.message),
        },
      );
    });
  const toOrigin = (index: number) => `http://127.0.1.${index}:${port}`;
  return { calls, call, left, toOrigin };
}

test('plain calls at http: go out by themselves, all others by the other client', async () => {
  const { call, left, toOrigin } = await open();
  expect(await call(toOrigin(1))).toBe('ok');
  expect(left).toEqual([]);
  expect(await call(toOrigin(1), 'HEAD')).toBe('left to the other client');
  expect(await call('https://127.0.1.1:1')).toBe('left to the other client');
  expect(left).toEqual([toOrigin(1), 'https://127.0.1.1:1']);
});

test('addresses with open connections add up to a bound, and are forgotten without them', async () => {
  const { calls, call, left, toOrigin } = await open();
  const some = Array.from({ length: 254 }, (_, index) => toOrigin(index + 1));
  const more = some.map((origin) => origin.replace('127.0.1.', '127.0.2.'));
  expect(new Set(await Promise.all(some.map((origin) => call(origin))))).toEqual(new Set(['ok']));
  await Promise.all(more.slice(0, 10).map((origin) => call(origin)));
  expect(left).toEqual(more.slice(2, 10));
  calls.destroy(new Error('the end'));
  expect(await call(toOrigin(1))).toBe('left to the other client');
});

test('addresses whose connections have ended make room', async () => {
  const { call, left, toOrigin } = await open({ keeps: false });
  const some = Array.from({ length: 254 }, (_, index) => toOrigin(index + 1));
  await Promise.all(some.map((origin) => call(origin)));
  const more = some.map((origin) => origin.replace('127.0.1.', '127.0.2.'));
  expect(new Set(await Promise.all(more.slice(0, 10).map((origin) => call(origin))))).toEqual(new Set(['ok']));
  expect(left).toEqual([]);
});
