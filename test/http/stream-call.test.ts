// A call over a connection of its own that ends before its body is sent.
import { once } from 'node:events';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import { expect, test } from 'vitest';
import { createStreamCall, type StreamCallOptions } from '../../src/http/stream-call.ts';
import { openRawUpstream } from '../support/raw-upstream.ts';

/** Sends a call whose body never ends. */
function send(options: Pick<StreamCallOptions, 'connect'> & Partial<StreamCallOptions>, isGone = false) {
  const body = new Readable({ read: () => undefined });
  const begun = Promise.withResolvers<Dispatcher.DispatchController>();
  const failed = Promise.withResolvers<Error>();
  const handler: Dispatcher.DispatchHandler = {
    onRequestStart(controller) {
      begun.resolve(controller);
      if (isGone) controller.abort(new Error('the caller went away'));
    },
    onResponseError: (_controller, error) => failed.resolve(error),
  };
  const call = { origin: 'http://machine', path: '/x', method: 'POST', headers: ['host', 'a'], body } as const;
  const known = { isChunked: true, isAsking: false, trailers: () => [], ...options };
  createStreamCall(known).dispatch({ ...call, headers: [...call.headers] }, handler);
  return { body, begun: begun.promise, failed: failed.promise };
}

async function dial(port: number) {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  return socket;
}

test('one that is dialled in vain ends its body', async () => {
  const { body, failed } = send({ connect: () => Promise.reject(new Error('no way there')) });
  expect((await failed).message).toBe('no way there');
  expect(body.destroyed).toBe(true);
});

test('one whose caller has left meanwhile ends its body and closes the connection unused', async () => {
  const upstream = await openRawUpstream();
  const { body, failed } = send({ connect: () => dial(upstream.port) }, true);
  expect((await failed).message).toBe('the caller went away');
  expect(body.destroyed).toBe(true);
  const connection = await upstream.connection(0);
  await connection.closed;
  expect(connection.text).toBe('');
});

test('one whose caller leaves while a 100 is waited for ends its body and sends nothing of it', async () => {
  const upstream = await openRawUpstream();
  const { body, begun, failed } = send({ connect: () => dial(upstream.port), isAsking: true });
  const connection = await upstream.connection(0);
  await connection.until(/expect: 100-continue\r\n.*\r\n\r\n$/s);
  (await begun).abort(new Error('the caller went away'));
  expect((await failed).message).toBe('the caller went away');
  expect(body.destroyed).toBe(true);
  await connection.closed;
  await turn();
  expect(connection.text).toMatch(/\r\n\r\n$/);
});
