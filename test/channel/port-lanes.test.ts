// Requests to a busy port get connections of their own, lanes: both ends as they are, in front of a server that counts its connections.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { createPortLaneTarget } from '../../src/agent/channel/port-lane-target.ts';
import { createPortTarget } from '../../src/agent/channel/port-target.ts';
import { toPortAuthority } from '../../src/contract/channel.ts';
import { Pool } from '../../src/http/undici.ts';
import { MAX_PORT_LANES } from '../../src/platform/channels/lanes.ts';
import { LanedCalls } from '../../src/platform/proxy/laned-calls.ts';
import { connectTo } from '../../src/platform/proxy/machine-calls.ts';
import { withReplay } from '../../src/platform/proxy/replay.ts';
import { openChannelPair } from '../support/channel-pair.ts';
import { eventually } from '../support/eventually.ts';

const MEGABYTE = 1024 * 1024;

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** Answers `/N` with N bytes. */
const answerBytes: Answer = (request, response) => {
  response.end(Buffer.alloc(Number(request.url?.slice(1)), 'x'));
};

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

interface OpenOptions {
  readonly answer?: Answer;
  /** Whether the agent knows lanes to ports. */
  readonly hasLanes?: boolean;
  readonly idle_ms?: number;
  readonly places?: number;
  /** How long the agent takes to dial a lane. */
  readonly dial_ms?: number;
}

async function openCalls(options: OpenOptions = {}) {
  const { answer = answerBytes, hasLanes = true, idle_ms = 10_000, places = 100, dial_ms = 0 } = options;
  const server = createServer(answer);
  server.on('upgrade', (_request, socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    socket.pipe(socket);
  });
  const port = await listen(server);
  onTestFinished(() => server.closeAllConnections());
  const asked: string[] = [];
  const lanes = new Set<Socket>();
  let most = 0;
  let counted = 0;
  /** Takes the lanes of the agent, each of which begins with its name. */
  const front = createTcpServer({ allowHalfOpen: true }, (socket) => {
    socket.once('data', (name) => {
      lanes.add(socket.pause());
      most = Math.max(most, lanes.size);
      socket.once('close', () => lanes.delete(socket));
      pair.platform.lanes.take(String(name))?.(socket);
    });
  });
  const frontPort = await listen(front as unknown as Server);
  const toPort = {
    find: () => ({ pid: process.pid, addresses: ['127.0.0.1'] }),
    isOwn: () => true,
    begin() {
      counted += 1;
      return {
        [Symbol.dispose]() {
          counted -= 1;
        },
      };
    },
    findHttpPort: async () => port,
  };
  const laneTarget = createPortLaneTarget({
    ...toPort,
    mayHurry: () => true,
    async dial(lane_id) {
      asked.push(lane_id);
      const socket = connect({ host: '127.0.0.1', port: frontPort });
      await once(socket, 'connect');
      await sleep(dial_ms);
      socket.write(lane_id);
      // The lane is there before the agent says so, as with the answer of the platform.
      await eventually(() => pair.platform.lanes.take(lane_id) === undefined);
      return socket;
    },
  });
  const portTarget = createPortTarget({ ...toPort, waitForService: async () => undefined });
  const pair = await openChannelPair({ targets: hasLanes ? [laneTarget, portTarget] : [portTarget] });
  const streams = new Pool('http://machine', {
    connect: (_options, callback) => {
      connectTo({ channel: pair.platform, port }).then(
        (stream) => callback(null, stream as never),
        (error: Error) => callback(error, null),
      );
    },
    connections: 224,
    keepAliveTimeout: idle_ms,
  });
  const free = { places };
  const calls = new LanedCalls({
    lanes: pair.platform.lanes.ports,
    authority: toPortAuthority(port),
    streams,
    places: {
      take() {
        if (free.places === 0) return false;
        free.places -= 1;
        return true;
      },
      leave() {
        free.places += 1;
      },
    },
    idle_ms,
    now_ms: () => performance.now(),
  });
  onTestFinished(async () => {
    pair.platform.close('the test is over');
    await Promise.race([calls.close(), once(server, 'close')]);
  });
  return { pair, asked, lanes, calls, free, port, counted: () => counted, most: () => most };
}

type Calls = Pick<LanedCalls, 'dispatch'>;

/** Resolves with the length of the body, once the connection may take the next request. */
async function get(calls: Calls, path: string): Promise<number> {
  const length = await exchange(calls, path);
  await turn();
  await turn();
  return length;
}

function exchange(calls: Calls, path: string, headers: string[] = []): Promise<number> {
  return new Promise((resolve, reject) => {
    let length = 0;
    calls.dispatch(
      { origin: 'http://machine', path, method: 'GET', headers },
      {
        onRequestStart: () => undefined,
        onResponseStart: () => undefined,
        onResponseData(_controller, chunk) {
          length += chunk.length;
        },
        onResponseEnd: () => resolve(length),
        onResponseError: (_controller, error) => reject(error),
      },
    );
  });
}

type Opened = Awaited<ReturnType<typeof openCalls>>;

/** Requests one after the other until one of them has gone over a lane: its body is not in the channel. */
async function untilLane({ calls, pair }: Opened): Promise<void> {
  await eventually(async () => {
    const before_bytes = pair.socket.bytesRead;
    expect(await get(calls, `/${MEGABYTE}`)).toBe(MEGABYTE);
    return pair.socket.bytesRead - before_bytes < MEGABYTE / 2;
  });
}

test('the first requests go over the channel, and many get a lane that carries bodies beside it', async () => {
  const opened = await openCalls();
  const { calls, asked, lanes, pair, counted } = opened;
  for (let index = 0; index < 7; index += 1) expect(await get(calls, '/10')).toBe(10);
  expect(asked).toEqual([]);
  await untilLane(opened);
  const before_bytes = pair.socket.bytesRead;
  for (let index = 0; index < 20; index += 1) expect(await get(calls, `/${MEGABYTE}`)).toBe(MEGABYTE);
  expect(pair.socket.bytesRead - before_bytes).toBeLessThan(MEGABYTE / 2);
  // A lane counts as a connection to the port, and has no stream.
  await eventually(() => lanes.size > 0 && counted() === pair.platform.streams + lanes.size);
});

test('many at once get as many lanes as may be, every answer is whole, and idle lanes are closed', async () => {
  const { calls, lanes, counted, free, most } = await openCalls({ idle_ms: 1_000 });
  const drive = async () => {
    for (let index = 0; index < 40; index += 1) expect(await get(calls, '/3000')).toBe(3000);
  };
  await Promise.all(Array.from({ length: 48 }, drive));
  expect(most()).toBeGreaterThan(4);
  expect(most()).toBeLessThanOrEqual(MAX_PORT_LANES);
  await eventually(() => lanes.size === 0 && counted() === 0);
  await eventually(() => free.places === 100);
});

test('a lane may take longer to be dialled than a port to answer', async () => {
  const opened = await openCalls({ dial_ms: 1_200 });
  await untilLane(opened);
  expect(opened.asked).toHaveLength(1);
});

test('an agent without such lanes is asked once, and the channel carries everything', async () => {
  const { calls, pair, counted } = await openCalls({ hasLanes: false });
  await Promise.all(Array.from({ length: 40 }, async () => expect(await get(calls, '/10')).toBe(10)));
  await eventually(() => !pair.platform.lanes.ports.isOpen);
  for (let index = 0; index < 20; index += 1) expect(await get(calls, '/10')).toBe(10);
  await eventually(() => counted() === pair.platform.streams);
});

test('without a place no lane is asked for', async () => {
  const { calls, asked } = await openCalls({ places: 0 });
  await Promise.all(Array.from({ length: 40 }, () => get(calls, '/10')));
  expect(asked).toEqual([]);
});

test('a program that closes each connection costs one lane in ten seconds, and no answer', async () => {
  const { calls, asked, lanes } = await openCalls({
    answer(request, response) {
      response.setHeader('connection', 'close');
      answerBytes(request, response);
    },
  });
  const begun_ms = performance.now();
  await eventually(async () => {
    expect(await get(calls, '/10')).toBe(10);
    return asked.length > 0;
  });
  for (let index = 0; index < 30; index += 1) expect(await get(calls, '/10')).toBe(10);
  await eventually(() => lanes.size === 0);
  expect(asked.length).toBeLessThanOrEqual(1 + (performance.now() - begun_ms) / 10_000);
});

test.each<[string, string, (socket: Socket, opened: Opened) => unknown]>([
  ['is whole on a lane that ends', '8', (socket) => socket.end('rest')],
  ['breaks off on a lane that is reset', 'UND_ERR_SOCKET', (socket) => socket.resetAndDestroy()],
  ['breaks off with the channel', 'UND_ERR_SOCKET', (_socket, { pair }) => pair.platform.close('the machine is gone')],
])('an answer that ends with its connection %s', async (_how, expected, end) => {
  const { promise: begun, resolve } = Promise.withResolvers<Socket>();
  const opened = await openCalls({
    answer(request, response) {
      if (request.url !== '/close') return answerBytes(request, response);
      request.socket.write('HTTP/1.1 200 OK\r\nConnection: close\r\n\r\npart');
      resolve(request.socket);
    },
  });
  await untilLane(opened);
  const { streams } = opened.pair.platform;
  const answer = exchange(opened.calls, '/close').then(String, (error: Error) => Reflect.get(error, 'code'));
  const socket = await begun;
  // It has not gone over the channel, where what opened the lane may only now have ended.
  expect(opened.pair.platform.streams).toBeLessThanOrEqual(streams);
  end(socket, opened);
  expect(await answer).toBe(expected);
});

test('a switched connection is a stream of the channel', async () => {
  const opened = await openCalls();
  await untilLane(opened);
  const { calls, pair, lanes } = opened;
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  calls.dispatch(
    { origin: 'http://machine', path: '/', method: 'GET', headers: [], upgrade: 'websocket' },
    {
      onRequestStart: () => undefined,
      onRequestUpgrade: (_controller, _status, _headers, socket) => resolve(socket as Socket),
      onResponseError: (_controller, error) => reject(error),
    },
  );
  const socket = await promise;
  socket.write('there and back');
  const [echo]: Buffer[] = await once(socket, 'data');
  socket.resume();
  expect(String(echo)).toBe('there and back');
  const before_bytes = pair.socket.bytesRead;
  socket.write(Buffer.alloc(MEGABYTE));
  await eventually(() => pair.socket.bytesRead - before_bytes >= MEGABYTE);
  expect(lanes.size).toBeGreaterThan(0);
  socket.destroy();
});

test.for([
  ['the platform', 'platform'],
  ['the agent', 'agent'],
] as const)('the end of the channel at %s cuts its lanes and what they carry', async ([, end]) => {
  let isHolding = false;
  let held = 0;
  const opened = await openCalls({
    answer(request, response) {
      if (!isHolding) return answerBytes(request, response);
      response.setHeader('content-length', 100);
      response.write('a part');
      held += 1;
    },
  });
  await untilLane(opened);
  const { calls, lanes, pair, counted } = opened;
  isHolding = true;
  const cut = expect(get(calls, '/10')).rejects.toThrow();
  await eventually(() => held === 1 && lanes.size > 0);
  if (end === 'platform') pair.platform.close('the test ends it');
  else pair.agent.destroy();
  await cut;
  await eventually(() => lanes.size === 0 && counted() === 0);
});

test('a request on a lane names the host that its caller has named', async () => {
  const heads = new Set<string>();
  const opened = await openCalls({
    answer(request, response) {
      heads.add(request.rawHeaders.join('|'));
      answerBytes(request, response);
    },
  });
  await untilLane(opened);
  heads.clear();
  const before_bytes = opened.pair.socket.bytesRead;
  const length = await exchange(opened.calls, `/${MEGABYTE}`, ['Host', 'a.test:80', 'X-One', 'b']);
  expect(length).toBe(MEGABYTE);
  expect(opened.pair.socket.bytesRead - before_bytes).toBeLessThan(MEGABYTE / 2);
  expect([...heads]).toEqual(['host|a.test:80|connection|keep-alive|X-One|b']);
});

test('an answer on a lane may ask for a replay', async () => {
  const opened = await openCalls({
    answer(request, response) {
      response.setHeader('Fly-Replay', 'instance=abc');
      answerBytes(request, response);
    },
  });
  await untilLane(opened);
  const before = [...opened.lanes];
  const asked: string[] = [];
  const other = await openCalls();
  const calls = withReplay({
    first: opened.calls,
    from: 'one',
    async find(instance) {
      asked.push(instance);
      return other.calls;
    },
  });
  expect(await exchange(calls as Calls, '/7')).toBe(7);
  expect(asked).toEqual(['abc']);
  // What is left of the first answer, and of its connection, nobody needs.
  await eventually(() => before.some((lane) => lane.destroyed));
});

test('an answer that nobody has asked for closes its lane, and is given to no request', async () => {
  const { promise: begun, resolve } = Promise.withResolvers<Socket>();
  const opened = await openCalls({
    answer(request, response) {
      answerBytes(request, response);
      if (request.url === '/1') resolve(request.socket);
    },
  });
  const { calls, lanes } = opened;
  await untilLane(opened);
  const before = [...lanes];
  expect(await get(calls, '/1')).toBe(1);
  (await begun).write('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfalse');
  await eventually(() => before.some((lane) => lane.destroyed));
  expect(await get(calls, '/2')).toBe(2);
});
