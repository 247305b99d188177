import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { redactHeaders } from '../../../src/cli/dev/redact-headers.ts';
import { openSampleProvider } from '../../../src/cli/dev/sample-provider.ts';

async function openProvider() {
  const provider = await openSampleProvider({ port: 0 });
  onTestFinished(() => provider[Symbol.asyncDispose]());
  return provider;
}

async function sendRaw(url: string, text: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.end(text);
  let received = '';
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    received += chunk;
  });
  await once(socket, 'close');
  return received;
}

it('echoes method, raw target and headers, and counts the body', async () => {
  const { url } = await openProvider();
  const answer = await sendRaw(
    url,
    'PATCH /a/../b%2e%2E//;x?q=[1]&q=%zz HTTP/1.1\r\nHost: h\r\nX-One: 1\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello',
  );
  const echo: unknown = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')));
  expect(echo).toEqual({
    method: 'PATCH',
    target: '/a/../b%2e%2E//;x?q=[1]&q=%zz',
    headers: { host: 'h', 'x-one': '1', 'content-length': '5', connection: 'close' },
    body_bytes: 5,
  });
});

it('counts a large upload', async () => {
  const { url } = await openProvider();
  const chunk = new Uint8Array(1024 * 1024);
  let left = 64;
  const body = new ReadableStream({
    pull(controller) {
      if (left === 0) controller.close();
      else controller.enqueue(chunk);
      left -= 1;
    },
  });
  const answer = await fetch(url, { method: 'POST', body, duplex: 'half' });
  expect(await answer.json()).toMatchObject({ body_bytes: 64 * 1024 * 1024 });
});

it('streams as many events as asked for', async () => {
  const { url } = await openProvider();
  const answer = await fetch(`${url}/sse?count=3&interval_ms=10`);
  expect(answer.headers.get('content-type')).toBe('text/event-stream');
  const text = await answer.text();
  expect(text.match(/^id: \d+$/gm)).toEqual(['id: 1', 'id: 2', 'id: 3']);
  expect(text.endsWith('\n\n')).toBe(true);
});

it('streams without end when no number is given, until the caller goes', async () => {
  const { url } = await openProvider();
  const stop = new AbortController();
  const answer = await fetch(`${url}/sse?interval_ms=10`, { signal: stop.signal });
  let seen = '';
  await expect(async () => {
    for await (const chunk of answer.body ?? []) {
      seen += Buffer.from(chunk).toString();
      if (seen.includes('id: 5')) stop.abort();
    }
  }).rejects.toThrow(/abort/);
  expect(seen).toContain('id: 5');
});

it('echoes frames of a WebSocket, as text and as bytes', async () => {
  const { url } = await openProvider();
  const socket = new WebSocket(`${url.replace('http', 'ws')}/ws`);
  await once(socket, 'open');
  socket.send('hello');
  const [text, isBinary] = await once(socket, 'message');
  expect([String(text), isBinary]).toEqual(['hello', false]);
  socket.send(Buffer.from([1, 2]));
  const [bytes, isBytes] = await once(socket, 'message');
  expect([[...bytes], isBytes]).toEqual([[1, 2], true]);
  socket.close();
  await once(socket, 'close');
  const elsewhere = new WebSocket(`${url.replace('http', 'ws')}/other`);
  const [error] = await once(elsewhere, 'error');
  expect(String(error)).toMatch(/404/);
});

describe('the headers of an echo', () => {
  const key = 'sk-sample-0123456789abcdef';
  it.each([
    ['authorization', `Bearer ${key}`, `Bearer sk-s…(${key.length} chars)`],
    ['authorization', 'Basic dXNlcjpwYXNz', 'Basic dXNl…(12 chars)'],
    ['authorization', 'Bot short', 'Bot …(5 chars)'],
    ['x-api-key', key, `sk-s…(${key.length} chars)`],
    ['private-token', 'tiny', '…(4 chars)'],
    ['cookie', 'session=0123456789', 'sess…(18 chars)'],
    ['accept', 'text/html', 'text/html'],
  ])('show %s: %s as %s', (name, value, expected) => {
    expect(redactHeaders({ [name]: value })).toEqual({ [name]: expected });
  });
});
