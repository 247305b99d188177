// A process over plain HTTP, by a server that connects to the one that would run it.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { execOverWebSocket } from '../../src/http/exec-over-websocket.ts';
import { openRaw } from '../support/raw-http.ts';
import { openRawUpstream } from '../support/raw-upstream.ts';
import { tempDir } from '../support/temp-dir.ts';

test('a caller that leaves while the connection is opened has no process started', async () => {
  const upstream = await openRawUpstream();
  const begun = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<number | undefined>();
  const server = createServer((request, response) => {
    const connectLate = async () => {
      begun.resolve();
      await once(response, 'close');
      const socket = connect(upstream.port, '127.0.0.1');
      await once(socket, 'connect');
      return socket;
    };
    ended.resolve(execOverWebSocket(request, response, { connect: connectLate, path: '/v1/exec', from: 'machine' }));
  });
  const path = join(tempDir(), 's');
  server.listen(path);
  onTestFinished(() => void server.close().closeAllConnections());
  await once(server, 'listening');

  const caller = openRaw(path, 'POST /v1/exec?cmd=cat HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n');
  await begun.promise;
  caller.socket.destroy();
  const connection = await upstream.connection(0);
  await Promise.race([connection.closed, connection.until(/./)]);
  expect(connection.text).toBe('');
  expect(await ended.promise).toBeUndefined();
});
