// The body of a caller that leaves while nothing of it is read.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readCallerBody } from '../../src/http/caller-body.ts';
import { eventually } from '../support/eventually.ts';
import { openRaw } from '../support/raw-http.ts';
import { tempDir } from '../support/temp-dir.ts';

test.each([
  ['in the middle', '3\r\nabc\r\n', false],
  ['whole', '3\r\nabc\r\n0\r\n\r\n', true],
])('fails when it has come %s', async (_name, chunks, isComplete) => {
  const path = join(tempDir(), 's');
  const server = createServer().listen(path);
  onTestFinished(() => void server.close().closeAllConnections());
  await once(server, 'listening');
  const caller = openRaw(path, `POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}`);
  const [request, response]: [IncomingMessage, ServerResponse] = (await once(server, 'request')) as never;
  const body = await readCallerBody(request, response, 100);
  const stream = body?.open();
  await eventually(() => request.complete === isComplete);
  const closed = new Promise((resolve) => request.once('close', resolve));
  caller.socket.destroy();
  await closed;
  expect(stream).toMatchObject({ destroyed: true, errored: { message: 'the caller went away' } });
});
