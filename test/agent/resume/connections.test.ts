import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { createEventHub } from '../../../src/agent/events/event-hub.ts';
import { createPartBoard } from '../../../src/agent/parts.ts';
import { createIncarnation } from '../../../src/agent/resume/incarnation.ts';
import { createResume, type ResumePart } from '../../../src/agent/resume/resume.ts';
import { createUpstream } from '../../../src/agent/upstream.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { createScriptedKernel } from '../../support/scripted-kernel.ts';
import { silentLog } from '../../support/silent-log.ts';

test('after a restore pooled connections are new, and what hung on the old ones has ended', async () => {
  const sockets: Socket[] = [];
  const hanging: ServerResponse[] = [];
  const server = createServer((request, response) => {
    if (request.url === '/hang') hanging.push(response);
    else response.end(String(sockets.indexOf(request.socket)));
    server.emit('asked');
  });
  server.on('connection', (socket) => sockets.push(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const upstream = createUpstream();
  const kernel = createScriptedKernel();
  const resume: ResumePart = createResume({
    clock: systemClock,
    kernel,
    hub: createEventHub({
      clock: systemClock,
      generation: () => resume.generation(),
      sequence: { load: () => 0, reserve: () => undefined },
    }),
    part: createPartBoard(systemClock).part('resume'),
    log: silentLog,
    upstream,
    incarnation: createIncarnation({ load: () => undefined, save: () => undefined }),
  });
  const stop = new AbortController();
  resume.start(stop.signal, () => []);
  onTestFinished(async () => {
    stop.abort();
    await resume[Symbol.asyncDispose]();
    await upstream[Symbol.asyncDispose]();
    server.closeAllConnections();
    server.close();
  });
  const get = async (path: string) => {
    const { body } = await upstream.dispatcher.request({ origin, path, method: 'GET' });
    return await text(body);
  };
  expect(await get('/')).toBe('0');
  const asked = once(server, 'asked');
  const hung = get('/hang').then(
    () => 'answered',
    (error: Error) => error.message,
  );
  await asked;
  const ended = sockets.map((socket) => once(socket, 'close'));

  kernel.restore();
  await resume.gate.wait();
  expect(Number(await get('/'))).toBe(ended.length);
  expect(await hung).toMatch(/resumed/);
  await Promise.all(ended);
});
