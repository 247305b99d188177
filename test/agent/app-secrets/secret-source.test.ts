// Which answers mean that the platform has no secrets for this agent, and which say nothing.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createSecretSource } from '../../../src/agent/app-secrets/secret-source.ts';
import { createUpstream } from '../../../src/agent/upstream.ts';

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly isMarked?: boolean;
}

const PAGE = '<html><h1>nginx</h1></html>';
const ERROR = '{"error":"not_found","message":"words"}';
const SECRETS: Answer = { status: 200, body: '{"secrets":[]}' };

/** Answers with these in turn. */
async function openSource(answers: readonly Answer[]) {
  const rest = [...answers];
  const server = createServer((_request, response) => {
    const { status, body, isMarked = false } = rest.shift() ?? { status: 500, body: '' };
    response.writeHead(status, isMarked ? { 'remora-error': 'not_found' } : {}).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const upstream = createUpstream();
  onTestFinished(async () => {
    await upstream[Symbol.asyncDispose]();
    server.closeAllConnections();
    server.close();
  });
  const source = createSecretSource({
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ...{ app: 'acme', machine: 'm-1' },
    dispatcher: () => upstream.dispatcher,
    headers: () => ({}),
  });
  const { signal } = new AbortController();
  return () =>
    source.fetch(signal).then(
      ({ type }) => type,
      () => 'unknown',
    );
}

test.each([
  [403, ERROR, true, 'none'],
  [404, ERROR, true, 'none'],
  [405, '', true, 'none'],
  [501, ERROR, true, 'none'],
  [403, PAGE, false, 'unknown'],
  [404, PAGE, false, 'unknown'],
  [404, '', false, 'unknown'],
  [404, 'default backend - 404', false, 'unknown'],
  [404, '{"message":"no route"}', false, 'unknown'],
  [405, PAGE, false, 'unknown'],
  [501, PAGE, false, 'unknown'],
  [403, ERROR, false, 'unknown'],
  // Another implementation of the documents, which does not know the operation.
  [404, ERROR, false, 'none'],
  [405, ERROR, false, 'none'],
  [501, ERROR, false, 'none'],
])('%i %s, with the marker: %s, is %s', async (status, body, isMarked, expected) => {
  const fetch = await openSource([{ status, body, isMarked }]);
  expect(await fetch()).toBe(expected);
});

test.each([
  ['has given secrets', SECRETS],
  ['marks its errors', { status: 503, body: ERROR, isMarked: true }],
  ['has said that it has none', { status: 404, body: ERROR, isMarked: true }],
])('a platform that %s would not say without the marker that it has none', async (_name, before) => {
  const fetch = await openSource([before, { status: 404, body: ERROR }]);
  await fetch();
  expect(await fetch()).toBe('unknown');
});
