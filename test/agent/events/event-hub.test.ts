// The agent's events: numbers that never go back, a ring that never loses or repeats one, and the lines of GET /v1/events.
import { request } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createEventHandlers, toGap } from '../../../src/agent/events/event-handlers.ts';
import { createEventHub, type EventHub, type EventReader } from '../../../src/agent/events/event-hub.ts';
import { openStore } from '../../../src/agent/store.ts';
import { eventLine, eventOperations } from '../../../src/contract/local/events.ts';
import { ask } from '../../support/ask.ts';
import { startChild } from '../../support/child-lines.ts';
import { readLines } from '../../support/read-lines.ts';
import { serveEdge } from '../../support/serve-edge.ts';
import { tempDir } from '../../support/temp-dir.ts';

const clock = { wall_ms: () => 1_700_000_000_000, mono_ms: () => 0 };

function createHub(ringSize = 8, first = 0): { hub: EventHub<string>; reserved: number[]; errors: unknown[] } {
  const reserved: number[] = [];
  const errors: unknown[] = [];
  const sequence = { load: () => first, reserve: (upTo: number) => void reserved.push(upTo) };
  const onReaderError = (error: unknown) => void errors.push(error);
  return { hub: createEventHub({ clock, generation: () => 3, sequence, ringSize, onReaderError }), reserved, errors };
}

function createReader(also: (seq: number) => void = () => undefined): EventReader & { readonly seen: number[] } {
  const seen: number[] = [];
  return {
    seen,
    onEvent(event) {
      seen.push(event.seq);
      also(event.seq);
    },
  };
}

const publish = (hub: EventHub<string>, count: number) => {
  for (let n = 0; n < count; n += 1) hub.publish('tick');
};

describe('the hub', () => {
  test('stamps each event, and no field can take the place of a stamp', () => {
    const { hub } = createHub();
    const event = hub.publish('opened', { port: 80, seq: 99, type: 'x', time: 'x', generation: 0 });
    expect(event).toEqual({ seq: 1, time: '2023-11-14T22:13:20.000Z', generation: 3, type: 'opened', port: 80 });
  });

  test('reserves numbers before it uses them', () => {
    const { hub, reserved } = createHub(8, 1_024);
    expect(reserved).toEqual([]);
    hub.publish('tick');
    expect([hub.seq, reserved]).toEqual([1_025, [2_048]]);
    publish(hub, 1_023);
    expect([hub.seq, reserved]).toEqual([2_048, [2_048]]);
    hub.publish('tick');
    expect([hub.seq, reserved]).toEqual([2_049, [2_048, 3_072]]);
  });

  test('uses up no number for what is not JSON', () => {
    const { hub } = createHub();
    expect(() => hub.publish('bad', { n: 1n })).toThrow(TypeError);
    expect(hub.publish('good').seq).toBe(1);
  });

  test.each([
    [undefined, [11]],
    [0, [3, 4, 5, 6, 7, 8, 9, 10, 11]],
    [2, [3, 4, 5, 6, 7, 8, 9, 10, 11]],
    [6, [7, 8, 9, 10, 11]],
    [10, [11]],
    [99, [11]],
  ])('since %s gives what is kept, then what comes', (since, expected) => {
    const { hub } = createHub();
    publish(hub, 10);
    const reader = createReader();
    const stop = hub.subscribe(reader, since);
    hub.publish('live');
    stop();
    hub.publish('after');
    expect(reader.seen).toEqual(expected);
    expect([hub.oldest, hub.seq, hub.readers]).toEqual([5, 12, 0]);
  });

  test('gives every reader the numbers in order, also when readers publish, subscribe and leave while they read', () => {
    const { hub } = createHub(64);
    const late = createReader();
    const stops: (() => void)[] = [];
    const first = createReader((seq) => {
      if (seq === 3) publish(hub, 2);
      if (seq === 4) hub.subscribe(late, 0);
      if (seq === 5) stops[0]?.();
    });
    const leaving = createReader();
    const last = createReader();
    publish(hub, 2);
    hub.subscribe(first, 0);
    stops.push(hub.subscribe(leaving, 0));
    hub.subscribe(last, 0);
    hub.publish('three');
    hub.publish('six');
    expect(first.seen).toEqual([1, 2, 3, 4, 5, 6]);
    expect(last.seen).toEqual([1, 2, 3, 4, 5, 6]);
    expect(late.seen).toEqual([1, 2, 3, 4, 5, 6]);
    expect(leaving.seen).toEqual([1, 2, 3, 4, 5]);
  });

  test('drops a reader that throws, tells so, and serves the others', () => {
    const { hub, errors } = createHub();
    const cause = new Error('reader');
    hub.subscribe(
      createReader(() => {
        throw cause;
      }),
    );
    const good = createReader();
    hub.subscribe(good);
    publish(hub, 2);
    expect([good.seen, errors, hub.readers]).toEqual([[1, 2], [cause], 1]);
  });

  test('numbers never repeat or go back when the process is killed', async () => {
    const directory = tempDir();
    let highest = 0;
    for (let run = 0; run < 3; run += 1) {
      const child = startChild(process.execPath, [
        new URL('../../support/hub-child.ts', import.meta.url).pathname,
        directory,
      ]);
      const first = Number((await child.line(/^first/)).split(' ')[1]);
      expect(first).toBeGreaterThan(highest);
      for (let n = 0; n < 5; n += 1) highest = Number((await child.line(/^last/)).split(' ')[1]);
      child.process.kill('SIGKILL');
      await child.ended;
      for (;;) {
        const line = await child.line(/^last/).catch(() => undefined);
        if (line === undefined) break;
        highest = Number(line.split(' ')[1]);
      }
      expect(highest).toBeGreaterThan(first);
    }
    const store = openStore(directory, { set: () => undefined, state: 'ok' });
    expect(store.sequence.load()).toBeGreaterThanOrEqual(highest);
    store[Symbol.dispose]();
  });
});

describe('what a reader has missed', () => {
  test.each([
    [0, { seq: 0, oldest: 1 }, undefined],
    [0, { seq: 5, oldest: 1 }, undefined],
    [0, { seq: 5, oldest: 3 }, { from: 1, to: 2 }],
    [1, { seq: 5, oldest: 3 }, { from: 2, to: 2 }],
    [2, { seq: 5, oldest: 3 }, undefined],
    [5, { seq: 5, oldest: 3 }, undefined],
    [37, { seq: 1_024, oldest: 1_025 }, { from: 38, to: 1_024 }],
    [1_024, { seq: 1_024, oldest: 1_025 }, undefined],
    [900, { seq: 5, oldest: 3 }, { from: 1, to: 2 }],
    [900, { seq: 5, oldest: 1 }, undefined],
  ])('since %i of %j is %j', (since, hub, gap) => {
    expect(toGap(since, hub)).toEqual(gap);
  });
});

describe('GET /v1/events', () => {
  async function serve(ringSize = 8) {
    const { hub } = createHub(ringSize);
    return { hub, ...(await serveEdge(eventOperations, createEventHandlers(hub))) };
  }

  async function read(path: string, target: string, count: number) {
    const reader = await readLines(target, path);
    const lines: unknown[] = [];
    for (let n = 0; n < count; n += 1) lines.push(eventLine.parse(await reader.next()));
    return { reader, lines };
  }

  test('begins with hello, and without since has only what comes', async () => {
    const { hub, path } = await serve();
    publish(hub, 10);
    const { reader, lines } = await read(path, '/v1/events', 1);
    expect(lines).toEqual([{ type: 'hello', seq: 10, oldest: 3 }]);
    hub.publish('opened', { port: 80 });
    expect(await reader.next()).toMatchObject({ seq: 11, type: 'opened', port: 80, generation: 3 });
  });

  test('tells what is lost, then sends what is kept', async () => {
    const { hub, path } = await serve();
    publish(hub, 10);
    const { lines } = await read(path, '/v1/events?since=0', 10);
    expect(lines.slice(0, 2)).toEqual([
      { type: 'hello', seq: 10, oldest: 3 },
      { type: 'gap', from: 1, to: 2 },
    ]);
    expect(lines.slice(2)).toMatchObject([3, 4, 5, 6, 7, 8, 9, 10].map((seq) => ({ seq })));
  });

  test('a reader from before the numbering was lost gets all that is kept', async () => {
    const { hub, path } = await serve();
    publish(hub, 3);
    const { reader, lines } = await read(path, '/v1/events?since=5000', 4);
    expect(lines).toMatchObject([{ type: 'hello' }, { seq: 1 }, { seq: 2 }, { seq: 3 }]);
    hub.publish('live');
    expect(await reader.next()).toMatchObject({ seq: 4 });
  });

  test('types picks events, kept and live', async () => {
    const { hub, path } = await serve();
    for (const type of ['a', 'b', 'c', 'a']) hub.publish(type);
    const { reader, lines } = await read(path, '/v1/events?since=0&types=a,c', 4);
    expect(lines).toMatchObject([{ type: 'hello' }, { seq: 1 }, { seq: 3 }, { seq: 4 }]);
    hub.publish('b');
    hub.publish('c');
    expect(await reader.next()).toMatchObject({ seq: 6, type: 'c' });
  });

  test.each(['since=-1', 'since=x', 'since=1.5', 'since=', 'since=1&since=2', 'types=', 'types=a,,b', 'types=a%20b'])(
    '%s is refused',
    async (query) => {
      const { path, edge } = await serve();
      expect((await ask(path, { target: `/v1/events?${query}` })).status).toBe(400);
      expect(edge.streams).toBe(0);
    },
  );

  test('a reader that leaves is forgotten', async () => {
    const { hub, path } = await serve();
    const { reader } = await read(path, '/v1/events', 1);
    expect(hub.readers).toBe(1);
    reader.close();
    await expect.poll(() => hub.readers).toBe(0);
  });

  test('a thousand readers get an event that is written as JSON once', async () => {
    const { hub, path } = await serve();
    const count = 1_000;
    let got = 0;
    const all = Promise.withResolvers<void>();
    await Promise.all(
      Array.from({ length: count }, async () => {
        await new Promise<void>((resolve, reject) => {
          const call = request({ socketPath: path, path: '/v1/events', agent: false });
          onTestFinished(() => {
            call.destroy();
          });
          call.once('error', reject);
          call.once('response', (response) => {
            response.setEncoding('utf8');
            let text = '';
            response.on('data', (chunk: string) => {
              text += chunk;
              if (text.includes('"hello"')) resolve();
              if (!text.includes('"wanted"')) return;
              got += 1;
              if (got === count) all.resolve();
              response.removeAllListeners('data');
            });
          });
          call.end();
        });
      }),
    );
    expect(hub.readers).toBe(count);
    let serializations = 0;
    hub.publish('wanted', {
      counted: {
        toJSON() {
          serializations += 1;
          return 'once';
        },
      },
    });
    await all.promise;
    expect(serializations).toBe(1);
  });
});
