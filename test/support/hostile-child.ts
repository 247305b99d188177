// A tenant that means harm, in a process of its own: it is the provider behind its own connector, and calls it. Says its origin in one
// line; then takes lines of JSON, each an attack that replaces the one before it, and says "attacking" once that is under way.
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { z } from 'zod';

const order = z.object({ attack: z.string(), port: z.int(), prefix: z.string(), token: z.string() });
type Order = z.infer<typeof order>;

const KILOBYTE = 1024;
const fine = Buffer.from('1\r\na\r\n'.repeat(10 * KILOBYTE));
const usage = `${' '.repeat(8 * KILOBYTE)}${'"usage":{'.repeat(1_600)}"input_tokens":1${'}'.repeat(1_600)}`;
const target = `/a;b%3b%5c%2523%253f%252f${'/'.repeat(7_800)}x%20y%253b/`;

/** Writes `block` for as long as the other side takes it. */
function pour(socket: Socket, block: Buffer): void {
  const write = () => {
    if (!socket.destroyed && socket.write(block)) setImmediate(write);
  };
  socket.on('drain', write);
  write();
}

const provider = createServer((socket) => {
  socket.on('error', () => undefined);
  socket.on('data', (chunk: Buffer) => {
    const path = /^\w+ (\S+)/.exec(chunk.toString('latin1'))?.[1] ?? '';
    if (path === '/hints') pour(socket, Buffer.from(`HTTP/1.1 103 Early Hints\r\nLink: ${'a'.repeat(12_000)}\r\n\r\n`));
    else if (path === '/fine') {
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
      pour(socket, fine);
    } else if (path === '/usage') {
      socket.write(
        `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${usage.length}\r\n\r\n${usage}`,
      );
    } else if (path.startsWith('/')) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
  });
});

const sockets = new Set<Socket>();

function open({ port }: Order): Socket {
  const socket = connect(port, '127.0.0.1');
  sockets.add(socket);
  socket.on('error', () => undefined);
  socket.once('close', () => sockets.delete(socket));
  return socket;
}

function toHead({ prefix, token }: Order, method: string, path: string, more = ''): string {
  return `${method} ${prefix}${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n${more}\r\n`;
}

/** Where the answer ends that `text` begins with, after its informational ones; undefined while it is not complete. */
function endOfAnswer(text: string): number | undefined {
  const from = text.search(/HTTP\/1.1 [2-5]/);
  const head = from < 0 ? -1 : text.indexOf('\r\n\r\n', from);
  if (head < 0) return undefined;
  const end = head + 4 + Number(/content-length: (\d+)/i.exec(text.slice(from, head))?.[1] ?? 0);
  return text.length >= end ? end : undefined;
}

/** So many connections, each with one call after the other. */
function loop(given: Order, count: number, toRequest: () => string): void {
  for (let index = 0; index < count; index += 1) {
    const again = () => {
      const socket = open(given);
      const ask = () => socket.write(toRequest());
      let text = '';
      socket.on('connect', ask);
      socket.on('data', (chunk: Buffer) => {
        text += chunk.toString('latin1');
        const end = endOfAnswer(text);
        if (end === undefined) return;
        text = '';
        ask();
      });
      socket.once('close', () => {
        if (current === given) setTimeout(again, 10);
      });
    };
    again();
  }
}

let current: Order | undefined;

const attacks: Readonly<Record<string, (given: Order) => void>> = {
  'expensive targets': (given) => loop(given, 16, () => toHead(given, 'GET', target)),
  'informational answers': (given) => loop(given, 16, () => toHead(given, 'GET', '/hints')),
  'answers in chunks of one byte'(given) {
    for (let index = 0; index < 8; index += 1)
      open(given)
        .on('data', () => undefined)
        .write(toHead(given, 'GET', '/fine'));
  },
  'answers that nobody reads'(given) {
    for (let index = 0; index < 32; index += 1) open(given).write(toHead(given, 'GET', '/fine'));
  },
  'answers with endless usage': (given) => loop(given, 16, () => toHead(given, 'GET', '/usage')),
  'bodies that do not come'(given) {
    for (let index = 0; index < 400; index += 1)
      open(given).write(`${toHead(given, 'POST', '/x', 'Content-Length: 10\r\n')}a`);
  },
  'bodies in chunks of one byte'(given) {
    for (let index = 0; index < 8; index += 1) {
      const socket = open(given);
      socket.write(toHead(given, 'POST', '/x', 'Transfer-Encoding: chunked\r\n'));
      socket.on('data', () => undefined);
      pour(socket, fine);
    }
  },
  'calls from 64 connections': (given) => loop(given, 64, () => toHead(given, 'GET', '/x')),
  'calls one behind the other'(given) {
    for (let index = 0; index < 16; index += 1) {
      const socket = open(given);
      socket.on('data', () => undefined);
      pour(socket, Buffer.from(toHead(given, 'GET', '/x').repeat(200)));
    }
  },
  'wrong tokens from 64 connections'(given) {
    let count = 0;
    loop(given, 64, () => {
      count += 1;
      return toHead({ ...given, token: `remora_org_${count}` }, 'GET', '/x');
    });
  },
};

provider.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(provider.address() as AddressInfo).port}\n`);
});
createInterface({ input: process.stdin }).on('line', (text) => {
  current = undefined;
  for (const socket of sockets) socket.destroy();
  const given = order.parse(JSON.parse(text));
  current = given;
  attacks[given.attack]?.(given);
  setTimeout(() => process.stdout.write('attacking\n'), 500);
});
