// The port of the resolver: who answers there in its place, and how it comes back to it. The sockets are real ones on this machine.
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { openStandIn } from '../../src/agent/network/stand-in.ts';
import { createFrameReader, toFrame } from '../../src/core/dns/tcp-frames.ts';
import { openDnsFront } from '../../src/dns/dns-front.ts';
import { openFrontAgain } from '../../src/network/dns/open-front.ts';
import { atEnd } from '../support/at-end.ts';
import { makeOpt, makeQuery } from '../support/dns-messages.ts';

const PATIENCE_MS = 20_000;
const SHORT_MS = 50;
const ECHO = async (message: Buffer) => message;
const query = makeQuery({ id: 7, opt: makeOpt() });

async function openClosed<T extends AsyncDisposable>(opening: Promise<T>): Promise<T> {
  const opened = await opening;
  atEnd(() => opened[Symbol.asyncDispose]());
  return opened;
}

async function askUdp(port: number, message: Uint8Array): Promise<Buffer> {
  const socket = createSocket('udp4');
  try {
    socket.send(message, port, '127.0.0.1');
    const [answer] = await once(socket, 'message');
    return answer;
  } finally {
    socket.close();
  }
}

async function askTcp(port: number, message: Uint8Array): Promise<Buffer> {
  const socket = connect(port, '127.0.0.1');
  try {
    const answer = new Promise<Buffer>((resolve) => socket.on('data', createFrameReader(resolve)));
    socket.write(toFrame(message));
    return await answer;
  } finally {
    socket.destroy();
  }
}

const rcodeOf = (answer: Buffer) => (answer[3] ?? 0) & 15;
const REFUSED = 5;
const FORMERR = 1;

test('in the place of a resolver every query is REFUSED with the reason, and what is none as everywhere', async () => {
  const { port } = await openClosed(openStandIn(0, new AbortController().signal));
  for (const answer of [await askUdp(port, query), await askTcp(port, query)]) {
    expect([answer.readUInt16BE(0), rcodeOf(answer)]).toEqual([7, REFUSED]);
    expect(answer.toString('latin1')).toContain('is being started again');
  }
  const cut = await askUdp(port, query.subarray(0, -1));
  expect([rcodeOf(cut), cut.length]).toEqual([FORMERR, 12]);
});

test('the resolver waits for who makes way at its port', async () => {
  const other = await openDnsFront(ECHO);
  const opening = openClosed(openFrontAgain(ECHO, other.port, PATIENCE_MS));
  expect(await askUdp(other.port, query)).toEqual(query);
  await other[Symbol.asyncDispose]();
  expect((await opening).port).toBe(other.port);
});

test('a program that keeps the port keeps the resolver from nothing, and nobody from being told', async () => {
  const holder = createSocket('udp4').bind(0, '127.0.0.1');
  await once(holder, 'listening');
  atEnd(() => void holder.close());
  const { port } = holder.address();
  const front = await openClosed(openFrontAgain(ECHO, port, SHORT_MS));
  expect(front.port).not.toBe(port);
  expect(await askTcp(front.port, query)).toEqual(query);
  await expect(openStandIn(port, new AbortController().signal)).rejects.toMatchObject({ code: 'EADDRINUSE' });
  const leaving = new AbortController();
  const opening = openStandIn(port, leaving.signal);
  leaving.abort();
  await expect(opening).rejects.toMatchObject({ name: 'AbortError' });
});
