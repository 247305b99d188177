import { once } from 'node:events';
import { describe, expect, it, onTestFinished } from 'vitest';
import WebSocket from 'ws';
import { z } from 'zod';
import { defineOperation } from '../../src/contract/operation.ts';
import { RemoraError } from '../../src/core/remora-error.ts';
import type { EventSink } from '../../src/http/event-sink.ts';
import { countSteps } from '../support/count-turns.ts';
import { type ServedEdge, serveEdge } from '../support/serve-edge.ts';

const line = z.object({ n: z.int(), text: z.string().optional() });
type Line = z.infer<typeof line>;
const row = (path: string) =>
  defineOperation({
    method: 'GET',
    path,
    summary: 'lines',
    source: 'test',
    tag: 'test',
    answer: { kind: 'stream', status: 200, schema: line, upgrades: true },
    errors: [],
  });

function serve(handler: (sink: EventSink<Line>) => void | Promise<void>): Promise<ServedEdge> {
  return serveEdge({ lines: row('/lines') }, { lines: (_call, sink) => handler(sink) });
}

function connect(edge: ServedEdge, options: WebSocket.ClientOptions = {}): WebSocket {
  const socket = new WebSocket(`ws+unix:${edge.path}:/lines`, options);
  onTestFinished(() => socket.terminate());
  return socket;
}

async function closed(socket: WebSocket): Promise<[code: number, reason: string]> {
  const [code, reason] = await once(socket, 'close');
  return [code, String(reason)];
}

describe('a stream over a WebSocket', () => {
  it('sends each event as one text frame and closes with 1000 when it is over', async () => {
    const edge = await serve((sink) => {
      sink.send({ n: 1 });
      sink.sendTexts(['{"n":2}', '{"n":3}']);
      sink.end();
    });
    const socket = connect(edge);
    const frames: string[] = [];
    socket.on('message', (data) => frames.push(String(data)));
    expect(await closed(socket)).toEqual([1000, '']);
    expect(frames).toEqual(['{"n":1}', '{"n":2}', '{"n":3}']);
    expect(edge.edge.streams).toBe(0);
  });

  it('closes with 1001 when the server stops, and the stop waits for nobody', async () => {
    const edge = await serve((sink) => sink.send({ n: 1 }));
    const socket = connect(edge);
    await once(socket, 'message');
    const end = closed(socket);
    await edge.edge.drain(5_000);
    expect((await end)[0]).toBe(1001);
  });

  it('says why it was broken off', async () => {
    const edge = await serve((sink) => {
      sink.send({ n: 1 });
      throw new RemoraError('not_ready', 'the ports are gone');
    });
    expect(await closed(connect(edge))).toEqual([1008, 'not_ready: the ports are gone']);
  });

  it('answers as HTTP what is thrown before the first event', async () => {
    const edge = await serve(() => {
      throw new RemoraError('not_ready', 'later');
    });
    const [error] = await once(connect(edge), 'error');
    expect(String(error)).toContain('503');
  });

  it('cuts a reader that takes nothing, and says so to what it reads later', async () => {
    let cut = false;
    const edge = await serve((sink) => {
      sink.onClose(() => {
        cut = true;
      });
      const text = 'x'.repeat(64 * 1024);
      const timer = setInterval(() => {
        if (sink.closed) clearInterval(timer);
        else for (let n = 0; n < 32; n += 1) sink.send({ n, text });
      }, 1);
    });
    const socket = connect(edge);
    await once(socket, 'open');
    socket.pause();
    await expect.poll(() => cut).toBe(true);
    const end = closed(socket);
    socket.resume();
    const [code, reason] = await end;
    expect([code, reason.split(':')[0]]).toEqual([1008, 'slow_reader']);
  });

  it('takes no notice of what a reader sends, and ends with one that sends too much', async () => {
    const edge = await serve((sink) => sink.send({ n: 1 }));
    const socket = connect(edge);
    await once(socket, 'message');
    socket.send('hello');
    socket.ping();
    await once(socket, 'pong');
    expect(edge.edge.streams).toBe(1);
    socket.send('x'.repeat(100_000));
    expect((await closed(socket))[0]).toBe(1009);
    expect(edge.edge.streams).toBe(0);
  });

  it('takes one frame in each turn of the loop, however many come in one read', async () => {
    const edge = await serve((sink) => sink.send({ n: 1 }));
    const socket = connect(edge);
    await once(socket, 'message');
    const { step, perTurn } = countSteps();
    const emit = WebSocket.prototype.emit;
    onTestFinished(() => {
      WebSocket.prototype.emit = emit;
    });
    let heard = 0;
    WebSocket.prototype.emit = function (this: WebSocket, name: string | symbol, ...args: unknown[]) {
      if (name === 'ping') {
        heard += 1;
        step();
      }
      return emit.call(this, name, ...args);
    };
    const pings = 2_000;
    for (let sent = 0; sent < pings; sent += 1) socket.ping();
    await expect.poll(() => heard).toBe(pings);
    expect(Math.max(...perTurn())).toBeLessThanOrEqual(2);
  });

  it('answers pings, but not those of a reader that does not take the answers', async () => {
    const edge = await serve((sink) => sink.send({ n: 1 }));
    const socket = connect(edge);
    await once(socket, 'message');
    let pongs = 0;
    socket.on('pong', () => {
      pongs += 1;
    });
    socket.ping();
    await expect.poll(() => pongs).toBe(1);
    socket.pause();
    const pings = 50_000;
    const data = Buffer.alloc(125);
    for (let sent = 0; sent < pings; sent += 1) {
      socket.ping(data);
      if (sent % 500 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    await expect.poll(() => socket.bufferedAmount).toBe(0);
    socket.resume();
    const end = once(socket, 'close');
    await edge.edge.drain(1_000);
    await end;
    expect(pongs).toBeLessThan(pings / 2);
  });
});
