// A reader that takes nothing: what waits for it is counted in pieces as well as in bytes.
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { AnswerWriter } from '../../src/http/answer-writer.ts';
import { tempDir } from '../support/temp-dir.ts';

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

it('stops its source after a few small pieces, and goes on when they are read', async () => {
  const path = join(tempDir(), 's');
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const caller = connect(path);
  onTestFinished(() => {
    caller.destroy();
    server.close();
  });
  caller.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  const [, response] = (await once(server, 'request')) as [unknown, ServerResponse];
  // The kernel holds no more in the end for a reader that does not read.
  while (response.writableLength === 0) {
    response.write(Buffer.alloc(4 * 1024));
    await nextTurn();
  }
  let isPaused = false;
  const resumed = new Promise<void>((resolve) => {
    const source = {
      pause: () => {
        isPaused = true;
      },
      resume: () => {
        isPaused = false;
        resolve();
      },
    };
    const writer = new AnswerWriter(response, source);
    let pieces = 0;
    void (async () => {
      while (!isPaused && pieces < 10_000) {
        writer.push(Buffer.from('a'));
        pieces += 1;
        await nextTurn();
      }
      expect(pieces).toBeLessThanOrEqual(64);
      caller.resume();
    })();
  });
  await resumed;
  expect(isPaused).toBe(false);
});

it('leaves in one write what came in one turn', async () => {
  const path = join(tempDir(), 's');
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const caller = connect(path);
  onTestFinished(() => {
    caller.destroy();
    server.close();
  });
  caller.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  const [, response] = (await once(server, 'request')) as [unknown, ServerResponse];
  const seen: string[] = [];
  const source = { pause: () => undefined, resume: () => undefined };
  const writer = new AnswerWriter(response, source, (bytes) => seen.push(bytes.toString()));
  for (const piece of ['a', 'b', 'c']) writer.push(Buffer.from(piece));
  await nextTurn();
  writer.push(Buffer.from('d'));
  await nextTurn();
  expect(seen).toEqual(['abc', 'd']);
});
