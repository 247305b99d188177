// The far end of a channel may be root in the machine of a tenant. What it sends there is cut, and named in the audit; the memory of the
// platform stays, and the calls of its neighbour are answered.
import { expect, test } from 'vitest';
import { type PlayedMachine, startChannelTenants } from '../support/channel-tenants.ts';
import { dialAs } from '../support/dial-as.ts';
import { type HostileMachine, openHostileMachine } from '../support/hostile-machine.ts';
import {
  END_HEADERS,
  END_STREAM,
  frameTypes,
  STATUS_HINTS,
  STATUS_OK,
  toFrame,
  toWord,
} from '../support/http2-frames.ts';
import { memoryOf } from '../support/memory-of.ts';
import { openPlayedAgent } from '../support/played-agent.ts';

const MEGABYTE = 1024 * 1024;
const KILOBYTE = 1024;
/** What the platform may need more, whatever a machine sends. */
const GROWTH_BYTES = 120 * MEGABYTE;

const { data, headers, reset, settings, pushPromise, ping, goAway, windowUpdate, continuation } = frameTypes;
const repeat = (frame: Buffer) => Buffer.concat(Array.from({ length: Math.ceil(65_536 / frame.length) }, () => frame));

interface Attack {
  readonly run: (machine: HostileMachine, stream: number) => Promise<unknown>;
  readonly reason: RegExp;
}

/** Each begins with a call of the machine's own organization, whose stream is accepted and not answered. */
const attacks: Readonly<Record<string, Attack>> = {
  'SETTINGS without end': {
    run: ({ pour }) => pour(repeat(toFrame(settings, 0, 0, Buffer.concat([Buffer.from([0, 4]), toWord(70_000)])))),
    reason: /too many SETTINGS/,
  },
  'PING without end': { run: ({ pour }) => pour(repeat(toFrame(ping, 0, 0, '12345678'))), reason: /too many PING/ },
  'RST_STREAM without end': {
    run: ({ pour }, stream) => pour(repeat(toFrame(reset, 0, stream, toWord(8)))),
    reason: /too many RST_STREAM/,
  },
  'GOAWAY without end': {
    run: ({ pour }) => pour(repeat(toFrame(goAway, 0, 0, Buffer.concat([toWord(2 ** 31 - 1), toWord(0)])))),
    reason: /too many GOAWAY/,
  },
  PUSH_PROMISE: {
    run: ({ pour }, stream) =>
      pour(toFrame(pushPromise, END_HEADERS, stream, Buffer.concat([toWord(2), STATUS_OK])), 1),
    reason: /PUSH_PROMISE/,
  },
  'a head in frames without end': {
    async run({ pour }, stream) {
      await pour(toFrame(headers, 0, stream, STATUS_OK), 1);
      await pour(repeat(toFrame(continuation, 0, stream, Buffer.alloc(100, 0x88))));
    },
    reason: /CONTINUATION/,
  },
  'a head of a megabyte': {
    run: ({ pour }, stream) => pour(toFrame(headers, END_HEADERS, stream, Buffer.alloc(MEGABYTE, 0x88)), 1),
    reason: /above 16 KB/,
  },
  'heads of 16 KB without end': {
    run: ({ pour }, stream) => pour(toFrame(headers, END_HEADERS, stream, Buffer.alloc(16 * KILOBYTE, 0x88))),
    reason: /HEADERS|protocol error/i,
  },
  'informational heads without end': {
    run: ({ pour }, stream) => pour(repeat(toFrame(headers, END_HEADERS, stream, STATUS_HINTS))),
    reason: /informational|HEADERS|protocol error/i,
  },
  'WINDOW_UPDATE without end': {
    run: ({ pour }, stream) => pour(repeat(toFrame(windowUpdate, 0, stream, toWord(1)))),
    reason: /too many WINDOW_UPDATE/,
  },
  'a window above all': {
    run: ({ pour }) => pour(repeat(toFrame(windowUpdate, 0, 0, toWord(2 ** 31 - 1)))),
    reason: /WINDOW_UPDATE|flow.control/i,
  },
  'a stream of its own': {
    run: ({ pour }) => pour(toFrame(headers, END_HEADERS | END_STREAM, 2, STATUS_OK), 1),
    reason: /protocol error/i,
  },
  'DATA of no bytes without end': {
    run: ({ pour }, stream) => pour(repeat(toFrame(data, 0, stream))),
    reason: /DATA without bytes/,
  },
  'padded DATA': {
    run: ({ pour }, stream) => pour(repeat(toFrame(data, 8, stream, Buffer.alloc(256, 0xff)))),
    reason: /padded/,
  },
  'frames of an unknown type': {
    run: ({ pour }) => pour(repeat(toFrame(0x2a, 0, 0, 'what'))),
    reason: /unknown type/,
  },
  'no HTTP/2 at all': {
    run: ({ socket }) =>
      new Promise((resolve) => socket.write(Buffer.alloc(16 * KILOBYTE, 'GET / HTTP/1.1\r\n'), resolve)),
    reason: /above 16 KB|protocol error/i,
  },
};

/** Two tenants: `call` asks the sprite of the hostile one, and `isServed` that of its neighbour. */
async function openTenants(machines: number) {
  const { url, pid, hostile, neighbour, cut } = await startChannelTenants(machines);
  const ask = (token: string, sprite: string) =>
    fetch(`${url}/v1/sprites/${sprite}/services`, { headers: { authorization: `Bearer ${token}` } });
  const [own] = neighbour.machines;
  await openPlayedAgent(url, own as PlayedMachine);
  const isServed = async () => (await ask(neighbour.token, 'm-0')).status === 200;
  expect(await isServed()).toBe(true);
  const before_bytes = memoryOf(pid);
  return {
    url,
    machines: hostile.machines,
    cut,
    isServed,
    token: hostile.token,
    call: (sprite: string) => ask(hostile.token, sprite),
    growth_bytes: () => memoryOf(pid) - before_bytes,
  };
}

test('a machine that breaks the rules loses its channel, and the audit names it', async () => {
  const names = Object.keys(attacks);
  const { url, machines, cut, call, isServed, growth_bytes } = await openTenants(names.length);
  for (const [index, name] of names.entries()) {
    const played = machines[index] as PlayedMachine;
    const machine = await openHostileMachine(url, played);
    const calling = call(played.sprite).then(
      ({ status }) => status,
      () => 0,
    );
    const stream = await machine.accept();
    const attack = attacks[name] as Attack;
    const [, reason, served] = await Promise.all([attack.run(machine, stream), cut(played.id), isServed()]);
    expect.soft(reason, name).toMatch(attack.reason);
    expect.soft(served, name).toBe(true);
    expect.soft([502, 503], name).toContain(await calling);
    const refused = dialAs(url, played, machine.identity).then(
      () => 101,
      (error: { status: number }) => error.status,
    );
    expect.soft(await refused, name).toBe(429);
  }
  expect(growth_bytes()).toBeLessThan(GROWTH_BYTES);
  expect(await isServed()).toBe(true);
});

/** What comes to the caller: its status, or 0 when the answer is broken before its head or after it. */
async function outcomeOf(answer: Promise<Response>): Promise<number> {
  try {
    const { status, body } = await answer;
    for await (const _part of body ?? []);
    return status;
  } catch {
    return 0;
  }
}

const toData = (stream: number, bytes: Buffer | string) => toFrame(data, 0, stream, bytes);
const inSingles = (stream: number, text: string) =>
  repeat(Buffer.concat([...text].map((byte) => toData(stream, byte))));
const chunkedHead = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';

/** What is wrong inside one call ends this call. */
const answers: Readonly<Record<string, { run: Attack['run']; outcomes: readonly number[] }>> = {
  'informational answers without end': {
    run: ({ pour }, stream) =>
      pour(toData(stream, `HTTP/1.1 103 Early Hints\r\nLink: ${'a'.repeat(12 * KILOBYTE)}\r\n\r\n`)),
    outcomes: [502],
  },
  'a head of a megabyte': {
    async run({ pour }, stream) {
      await pour(toData(stream, 'HTTP/1.1 200 OK\r\n'), 1);
      await pour(toData(stream, `X-A: ${'a'.repeat(1_000)}\r\n`.repeat(16)), MEGABYTE);
    },
    outcomes: [502],
  },
  'trailers without end': {
    async run({ pour }, stream) {
      await pour(toData(stream, `${chunkedHead}0\r\n`), 1);
      await pour(toData(stream, `X-A: ${'a'.repeat(1_000)}\r\n`.repeat(16)));
    },
    // Broken off after its head, or before.
    outcomes: [0, 502],
  },
  'one byte in each chunk and each frame': {
    async run({ pour }, stream) {
      await pour(toData(stream, chunkedHead), 1);
      await pour(inSingles(stream, '1\r\na\r\n'), 16 * MEGABYTE);
    },
    // Broken off after its head, or before.
    outcomes: [0, 502],
  },
  'no HTTP at all': {
    run: ({ pour }, stream) => pour(toData(stream, Buffer.alloc(16 * KILOBYTE, 'x'))),
    outcomes: [502],
  },
};

test('an answer that is none ends its call, and the memory stays', async () => {
  const names = Object.keys(answers);
  const { url, machines, call, isServed, growth_bytes } = await openTenants(names.length);
  for (const [index, name] of names.entries()) {
    const played = machines[index] as PlayedMachine;
    const machine = await openHostileMachine(url, played);
    const calling = outcomeOf(call(played.sprite));
    const { run, outcomes } = answers[name] as (typeof answers)[string];
    const stream = await machine.accept();
    const [served] = await Promise.all([isServed(), run(machine, stream)]);
    // The call is repeated once where nothing was answered.
    machine.socket.destroy();
    expect.soft(served, name).toBe(true);
    expect.soft(outcomes, name).toContain(await calling);
  }
  expect(growth_bytes()).toBeLessThan(GROWTH_BYTES);
});

test('a connection that is never accepted is given up', async () => {
  const { url, machines, call, isServed } = await openTenants(1);
  const [played] = machines as [PlayedMachine];
  const machine = await openHostileMachine(url, played);
  const calling = call(played.sprite);
  await machine.stream();
  expect(await isServed()).toBe(true);
  expect((await calling).status).toBe(504);
});

test('a refusal without end is answered all the same', async () => {
  const { url, machines, token, isServed } = await openTenants(1);
  const [played] = machines as [PlayedMachine];
  const machine = await openHostileMachine(url, played);
  const headers = { authorization: `Bearer ${token}` };
  const calling = fetch(`${url}/v1/sprites/${played.sprite}/exec?cmd=x`, { method: 'POST', headers });
  const stream = await machine.accept();
  await machine.pour(toData(stream, 'HTTP/1.1 403 Forbidden\r\nContent-Length: 1000000000\r\n\r\n'), 1);
  await machine.pour(toData(stream, Buffer.alloc(8 * KILOBYTE, 'x')), MEGABYTE);
  const answer = await calling;
  expect([answer.status, (await answer.text()).length <= 64 * KILOBYTE]).toEqual([403, true]);
  expect(await isServed()).toBe(true);
});
