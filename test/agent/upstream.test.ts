import { once } from 'node:events';
import { createServer } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import { createUpstream } from '../../src/agent/upstream.ts';
import { readConnectionTable } from '../../src/linux/sockets/connection-table.ts';
import { listenForHellos } from '../support/client-hellos.ts';

/** Answers every request with one line and no end. */
async function openEndless() {
  const server = createServer((_request, response) => response.writeHead(200).write('line\n'));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
}

function openUpstream() {
  const upstream = createUpstream();
  onTestFinished(() => upstream[Symbol.asyncDispose]());
  return upstream;
}

it('is retired at once although a stream is open on it, and the stream goes on', async () => {
  const origin = await openEndless();
  const upstream = openUpstream();
  const before = upstream.dispatcher;
  const { body } = await before.request({ origin, path: '/', method: 'GET' });
  await upstream.retire();
  expect(upstream.dispatcher).not.toBe(before);
  await once(body, 'readable');
  expect(body.destroyed).toBe(false);
});

it('replaces a retired pool as well: what it still carried is broken off', async () => {
  const origin = await openEndless();
  const upstream = openUpstream();
  const { body } = await upstream.dispatcher.request({ origin, path: '/', method: 'GET' });
  const failed = once(body, 'error');
  body.resume();
  await upstream.retire();
  await upstream.replace();
  expect(String(await failed)).toMatch(/resumed/);
});

it('closes what is open at once when it is cut, and ends the calls on it when it is told to', async () => {
  const origin = await openEndless();
  const upstream = openUpstream();
  const { body } = await upstream.dispatcher.request({ origin, path: '/', method: 'GET' });
  const { port } = new URL(origin);
  const count = () => readConnectionTable().filter((each) => each.peer_port === Number(port)).length;
  let isOver = false;
  const failed = once(body, 'error').finally(() => {
    isOver = true;
  });
  body.resume();
  expect(count()).toBe(1);
  const end = upstream.cut();
  expect(count()).toBe(0);
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(isOver).toBe(false);
  await end();
  expect(await failed).toMatchObject([{ name: 'ConnectionsReplaced' }]);
});

it('begins no TLS handshake that may not begin, also over a connection that is made already', async () => {
  await using listener = await listenForHellos();
  const upstream = openUpstream();
  const asked: string[] = [];
  let mayBegin = false;
  upstream.askBeforeHandshakes(() => {
    asked.push('asked');
    return mayBegin;
  });
  const call = () =>
    upstream.dispatcher
      .request({ origin: `https://127.0.0.1:${listener.port}`, path: '/', method: 'GET' })
      .then(String, (error: Error) => error.name);
  expect(await call()).toBe('ConnectionsReplaced');
  expect([asked, listener.connections, listener.hellos]).toEqual([['asked'], 1, []]);
  mayBegin = true;
  expect(await call()).not.toBe('ConnectionsReplaced');
  expect([listener.connections, listener.hellos.length]).toEqual([2, 1]);
});
