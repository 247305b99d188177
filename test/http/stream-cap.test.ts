// Event streams stay open for as long as their readers like, so that each caller may have some, and no more.
import { connect } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { defineOperation } from '../../src/contract/operation.ts';
import { createEdge } from '../../src/http/edge.ts';
import { listenOnPath } from '../../src/http/listen-on-path.ts';
import { startAgent } from '../support/agent-process.ts';
import { openRaw, type RawConnection } from '../support/raw-http.ts';
import { silentLog } from '../support/silent-log.ts';
import { tempDir } from '../support/temp-dir.ts';

it('a caller beyond its limit is told to wait, and others go on until the listener has enough', async () => {
  const watch = defineOperation({
    method: 'GET',
    path: '/v1/watch',
    summary: 'of the test',
    source: 'of the test',
    tag: 'events',
    answer: { kind: 'stream', status: 200, schema: z.object({}) },
    errors: [],
  });
  const edge = createEdge({
    operations: { watch },
    handlers: { watch: (_call, sink) => sink.open() },
    authenticate: ({ headers }) => headers['x-caller'],
    callerOf: (caller) => caller,
    streamLimits: { ofCaller: 2, ofListener: 3 },
    log: silentLog,
  });
  const path = join(tempDir(), 's');
  const listening = await listenOnPath(edge.createServer('socket'), { path, mode: 0o600 });
  onTestFinished(async () => {
    await edge.drain(0);
    listening[Symbol.dispose]();
  });
  const open = (caller: string) => openRaw(path, `GET /v1/watch HTTP/1.1\r\nHost: a\r\nX-Caller: ${caller}\r\n\r\n`);
  const statusOf = async (stream: RawConnection) => Number((await stream.until(/\r\n\r\n/)).slice(9, 12));
  const first = open('one');
  expect(await statusOf(first)).toBe(200);
  expect(await statusOf(open('one'))).toBe(200);
  expect(await open('one').until(/\}\n$/)).toMatch(
    /^HTTP\/1.1 429 .*retry-after: \d+.*this caller has 2 event streams/is,
  );
  expect(await statusOf(open('two'))).toBe(200);
  expect(await open('two').until(/\}\n$/)).toMatch(/^HTTP\/1.1 429 .*retry-after: \d+.*this listener has 3/is);
  first.socket.destroy();
  await expect.poll(() => edge.streams).toBe(2);
  expect(await statusOf(open('one'))).toBe(200);
});

it('a listener of the agent has an end of them, and everything else is answered', async () => {
  const agent = await startAgent();
  let opened = 0;
  let refused = '';
  while (refused === '' && opened < 3_000) {
    const socket = connect(agent.socket);
    onTestFinished(() => {
      socket.destroy();
    });
    socket.write('GET /v1/events HTTP/1.1\r\nHost: a\r\n\r\n');
    const head = await new Promise<string>((resolve) => {
      socket.once('data', (chunk: Buffer) => resolve(chunk.toString()));
    });
    if (head.startsWith('HTTP/1.1 200')) opened += 1;
    else refused = head;
  }
  expect(refused).toMatch(/^HTTP\/1.1 429 .*retry-after: \d+/is);
  expect(opened).toBeGreaterThanOrEqual(256);
  expect((await agent.get('/v1/status')).json).toMatchObject({ streams: opened });
});
