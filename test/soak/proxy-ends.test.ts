// What `remora proxy` delivers when one end of a connection has ended its sending, or reads slowly.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { atEnd, openOnce } from '../support/at-end.ts';
import { eventually } from '../support/eventually.ts';
import { openInsideMachine } from '../support/inside-machine.ts';
import { runHere } from '../support/run-here.ts';
import { remoraPath } from '../support/run-remora.ts';

const SIZE_BYTES = 5 * 1024 * 1024;
const LIMIT_MS = 60_000;

/**
 * Three listeners, each with a line about its port and about what it got. `late` answers a while after it has all bytes, `slow` reads
 * with pauses and sends a byte for each read, `first` sends everything and ends at once.
 */
const listeners = `
const { createServer } = require('node:net');
const size = ${SIZE_BYTES};
const answer = Buffer.alloc(size, 'answer');
const serve = (name, use) => createServer({ allowHalfOpen: true }, (socket) => {
  const upload = Buffer.alloc(size, 'upload');
  let got = 0;
  let isSame = true;
  socket.on('error', () => console.log(name + ' cut after ' + got));
  socket.on('data', (part) => {
    isSame &&= part.equals(upload.subarray(got, got + part.length));
    got += part.length;
    if (got === size) console.log(name + ' has all: ' + isSame);
  });
  socket.on('end', () => { console.log(name + ' ended after ' + got); socket.end(); });
  use(socket, () => got);
}).listen(0, '127.0.0.1', function () { console.log(name + ' port ' + this.address().port); });
serve('late', (socket, got) => socket.on('data', () => {
  if (got() === size) setTimeout(() => socket.end(answer), 500);
}));
serve('slow', (socket) => socket.on('data', () => {
  if (socket.writable) socket.write('.');
  socket.pause();
  setTimeout(() => socket.resume(), 10);
}));
serve('first', (socket) => socket.end(answer));`;

const inside = openOnce(openInsideMachine);
const proxied = openOnce(async () => {
  const { elsewhere } = inside();
  const words = ['services', 'create', 'ends', '--duration', '0s', '--', process.execPath, '-e', listeners];
  expect(await runHere(words, elsewhere)).toMatchObject({ code: 0 });
  const logs = async () => (await runHere(['services', 'logs', 'ends'], elsewhere)).out;
  const names = ['late', 'slow', 'first'];
  const ports = await eventually(async () => {
    const text = await logs();
    const found = names.map((name) => new RegExp(`${name} port (\\d+)`).exec(text)?.[1]);
    return found.every((port) => port !== undefined) && found;
  });
  const child = spawn(process.execPath, [remoraPath, 'proxy', ...ports.map((port) => `0:${port}`)], {
    env: { PATH: process.env.PATH ?? '', ...elsewhere },
  });
  atEnd(() => child.kill('SIGKILL'));
  let stdout = '';
  child.stdout.on('data', (part: Buffer) => {
    stdout += String(part);
  });
  const [late = 0, slow = 0, first = 0] = await eventually(() => {
    const locals = [...stdout.matchAll(/^127\.0\.0\.1:(\d+) leads to/gm)].map((match) => Number(match[1]));
    return locals.length === names.length && locals;
  });
  return { logs, late, slow, first };
});

const upload = () => Buffer.alloc(SIZE_BYTES, 'upload');
const answer = Buffer.alloc(SIZE_BYTES, 'answer');

async function open(port: number): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
  await once(socket, 'connect');
  return socket;
}

/** Reads to the end, with a pause after each piece. */
async function readSlowly(socket: Socket, pause_ms: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of socket.iterator({ destroyOnReturn: false })) {
    parts.push(part);
    await sleep(pause_ms);
  }
  return Buffer.concat(parts);
}

it('delivers the answer to a client that has ended its sending', { timeout: LIMIT_MS }, async () => {
  const socket = await open(proxied().late);
  socket.end(upload());
  const got = await readSlowly(socket, 2);
  expect(got.length).toBe(SIZE_BYTES);
  expect(got.equals(answer)).toBe(true);
  expect(await proxied().logs()).toContain('late has all: true');
});

it('delivers what was sent before an end to a slow reader, and its end when nothing comes any more', {
  timeout: LIMIT_MS,
}, async () => {
  const socket = await open(proxied().slow);
  const closed = once(socket, 'close');
  socket.resume().end(upload());
  await eventually(async () => (await proxied().logs()).includes('slow has all: true'), LIMIT_MS);
  await eventually(async () => (await proxied().logs()).includes(`slow ended after ${SIZE_BYTES}`), LIMIT_MS);
  await closed;
});

it('delivers what was sent by a client that is gone', { timeout: LIMIT_MS }, async () => {
  const count = async () => (await proxied().logs()).split('late has all: true').length;
  const before = await count();
  const socket = await open(proxied().late);
  socket.end(upload());
  await once(socket, 'finish');
  socket.destroy();
  await eventually(async () => (await count()) > before, LIMIT_MS);
});

// The first bytes may come in the same read as the answer that the port is there: not each time.
it('delivers all of a far end that has ended, while the client still sends and reads slowly', {
  timeout: LIMIT_MS,
  repeats: 7,
}, async () => {
  const socket = await open(proxied().first);
  const sending = setInterval(() => socket.write(Buffer.alloc(1024)), 5);
  atEnd(() => clearInterval(sending));
  const got = await readSlowly(socket, 5);
  clearInterval(sending);
  socket.end();
  expect(got.length).toBe(SIZE_BYTES);
  expect(got.equals(answer)).toBe(true);
});
