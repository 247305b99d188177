// Large files over a channel get a connection of their own, a lane: both ends as they are, in front of servers that say by which way a call
// came.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { expect, onTestFinished, test } from 'vitest';
import { toServerTarget } from '../../src/agent/channel/channel-target.ts';
import { createLaneTarget } from '../../src/agent/channel/lane-target.ts';
import { openChannelPair } from '../support/channel-pair.ts';
import { eventually } from '../support/eventually.ts';

const MEGABYTE = 1024 * 1024;
const LARGE = 8 * MEGABYTE;

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** Answers `/N` with N bytes, and a body with its length. */
const answerBytes: Answer = (request, response) => {
  if (request.method === 'PUT') {
    let length = 0;
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
    });
    request.on('end', () => response.end(String(length)));
    return;
  }
  const bytes = Number(request.url?.slice(1));
  response.setHeader('content-length', bytes);
  response.end(Buffer.alloc(bytes, 'x'));
};

async function listen(server: Pick<Server, 'listen' | 'address' | 'close'>): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server as Server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

async function dialTo(port: number, first = ''): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port });
  await once(socket, 'connect');
  if (first !== '') socket.write(first);
  return socket;
}

interface PairOptions {
  readonly answer?: Answer;
  /** Whether the lane reaches the platform. */
  readonly mayDial?: boolean;
  /** Whether nobody else waits for the agent. */
  readonly mayHurry?: boolean;
}

async function openPair({ answer = answerBytes, mayDial = true, mayHurry = true }: PairOptions = {}) {
  const serve = (way: string) =>
    createServer((request, response) => {
      response.setHeader('x-way', way);
      response.setHeader('x-as-root', String(request.headers['remora-as-root']));
      answer(request, response);
    });
  const supervisor = await listen(serve('lane'));
  const asked: string[] = [];
  let counted = 0;
  /** Takes the lanes of the agent, each of which begins with its name. */
  const front = createTcpServer((socket) => {
    socket.once('data', (name) => pair.platform.lanes.take(String(name))?.(socket.pause()));
  });
  const port = await listen(front as unknown as Server);
  const pair = await openChannelPair({
    targets: [
      toServerTarget('agent', serve('channel')),
      createLaneTarget({
        async dial(lane_id) {
          asked.push(lane_id);
          if (!mayDial) throw new Error('refused');
          const socket = await dialTo(port, lane_id);
          // The lane is there before the agent says so, as with the answer of the platform.
          await eventually(() => pair.platform.lanes.take(lane_id) === undefined || undefined);
          return socket;
        },
        connect: () => dialTo(supervisor),
        mayHurry: () => mayHurry,
        begin() {
          counted += 1;
          return {
            [Symbol.dispose]() {
              counted -= 1;
            },
          };
        },
      }),
    ],
  });
  const { bulk } = pair.platform;
  return {
    pair,
    asked,
    counted: () => counted,
    read: (bytes: number, method: 'GET' | 'HEAD' = 'GET') =>
      bulk.readFile.request({ path: `/${bytes}`, method, headers: [] }),
    write: (bytes: number) =>
      bulk.writeFile.request({
        path: '/',
        method: 'PUT',
        headers: ['content-length', String(bytes)],
        body: Readable.from(pieces(bytes)),
      }),
  };
}

function* pieces(bytes: number) {
  for (let left = bytes; left > 0; left -= 64 * 1024) yield Buffer.alloc(Math.min(left, 64 * 1024));
}

type Answered = Awaited<ReturnType<Awaited<ReturnType<typeof openPair>>['read']>>;

const wayOf = ({ headers }: Answered) => headers['x-way'];

test.for([
  ['at once', true],
  ['in steps while others wait', false],
] as const)('a large file goes over a lane, both ways, %s, and a small one over the channel', async ([, mayHurry]) => {
  const { read, write, counted, pair } = await openPair({ mayHurry });
  const down = await read(LARGE);
  expect([wayOf(down), down.headers['x-as-root']]).toEqual(['lane', 'allowed']);
  expect(Buffer.from(await down.body.bytes()).equals(Buffer.alloc(LARGE, 'x'))).toBe(true);
  const up = await write(LARGE);
  expect([wayOf(up), await up.body.text()]).toEqual(['lane', String(LARGE)]);
  const small = await read(1_000);
  expect([wayOf(small), (await small.body.bytes()).length]).toEqual(['channel', 1_000]);
  const smallUp = await write(1_000);
  expect([wayOf(smallUp), await smallUp.body.text()]).toEqual(['channel', '1000']);
  const head = await read(LARGE, 'HEAD');
  expect([wayOf(head), head.headers['content-length']]).toEqual(['channel', String(LARGE)]);
  await eventually(() => counted() === 0 || undefined);
  // What is kept of all these is for the next small call.
  await eventually(() => pair.platform.streams <= 3 || undefined);
});

test('where no lane is opened the channel carries the file, and no other one is asked for', async () => {
  const { read, write, asked, counted } = await openPair({ mayDial: false });
  for (let round = 0; round < 2; round += 1) {
    const down = await read(LARGE);
    expect([wayOf(down), (await down.body.bytes()).length]).toEqual(['channel', LARGE]);
    const up = await write(LARGE);
    expect([wayOf(up), await up.body.text()]).toEqual(['channel', String(LARGE)]);
  }
  expect([asked.length, counted()]).toEqual([1, 0]);
});

test('more than eight large files at once share the channel', async () => {
  const held: ServerResponse[] = [];
  const { read, asked } = await openPair({
    answer(request, response) {
      const bytes = Number(request.url?.slice(1));
      response.setHeader('content-length', bytes);
      response.write(Buffer.alloc(1_000));
      held.push(response);
      response.once('close', () => held.splice(held.indexOf(response), 1));
    },
  });
  const ways = [];
  const bodies = [];
  for (let index = 0; index < 10; index += 1) {
    const answer = await read(LARGE);
    ways.push(wayOf(answer));
    bodies.push(answer.body.bytes());
  }
  expect(ways).toEqual([...Array(8).fill('lane'), 'channel', 'channel']);
  for (const response of [...held]) response.end(Buffer.alloc(LARGE - 1_000));
  expect((await Promise.all(bodies)).map(({ length }) => length)).toEqual(Array(10).fill(LARGE));
  expect(new Set(asked).size).toBe(8);
});

test('the end of the channel cuts its lanes, and a file never looks whole', async () => {
  const { read, pair, counted } = await openPair({
    answer(_request, response) {
      response.setHeader('content-length', LARGE);
      response.write(Buffer.alloc(MEGABYTE));
    },
  });
  const answer = await read(LARGE);
  expect([wayOf(answer), counted()]).toEqual(['lane', 1]);
  const reading = answer.body.bytes();
  pair.platform.close('the test ends it');
  await expect(reading).rejects.toThrow();
  await eventually(() => counted() === 0 || undefined);
});

test('a supervisor that breaks off breaks the file off, and a caller that goes away ends the lane', async () => {
  let serving: ServerResponse | undefined;
  const { read, write, counted } = await openPair({
    answer(request, response) {
      serving = response;
      if (request.method === 'PUT') {
        request.resume();
        return;
      }
      response.setHeader('content-length', LARGE);
      response.write(Buffer.alloc(MEGABYTE));
    },
  });
  const broken = await read(LARGE);
  expect(wayOf(broken)).toBe('lane');
  serving?.destroy();
  await expect(broken.body.bytes()).rejects.toThrow();
  await eventually(() => counted() === 0 || undefined);

  const left = await read(LARGE);
  left.body.on('error', () => undefined).destroy();
  await eventually(() => counted() === 0 || undefined);
  await eventually(() => serving?.destroyed || undefined);

  const up = write(LARGE);
  await eventually(() => (serving?.req.method === 'PUT' ? true : undefined));
  serving?.destroy();
  await expect(up).rejects.toThrow();
  await eventually(() => counted() === 0 || undefined);
});

test('a lane that nobody has asked for is not taken, and one is taken once', async () => {
  const { pair, read, asked } = await openPair();
  expect(pair.platform.lanes.take('ab'.repeat(16))).toBeUndefined();
  await (await read(LARGE)).body.dump();
  expect(pair.platform.lanes.take(asked[0] ?? '')).toBeUndefined();
});
