// A machine that is suspended again and again, each time for less than a resume: the platform ends its channel each time.
import { createServer } from 'node:http';
import { type ClientHttp2Session, connect } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createChannel } from '../../src/agent/channel/channel.ts';
import { CHANNEL_PROTOCOL } from '../../src/contract/channel.ts';
import { systemClock } from '../../src/core/clock.ts';
import { Secret } from '../../src/core/secret.ts';
import { silentLog } from '../support/silent-log.ts';

type End = (session: ClientHttp2Session, socket: Socket) => void;

const ends: Readonly<Record<string, End>> = {
  'with a goodbye': (session) => session.destroy(),
  'after a call, without a goodbye': (session, socket) => {
    const call = session.request({ ':method': 'CONNECT', ':authority': 'agent' });
    call.on('error', () => undefined).once('response', () => socket.resetAndDestroy());
  },
};

/** Takes every channel, and ends it. */
async function openEndingPlatform(end: End): Promise<string> {
  const server = createServer();
  const sockets = new Set<Socket>();
  server.on('upgrade', (_request, socket: Socket) => {
    sockets.add(socket);
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: ${CHANNEL_PROTOCOL}\r\n\r\n`);
    const session = connect('http://channel', { createConnection: () => socket });
    session.on('error', () => undefined).once('remoteSettings', () => end(session, socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test.each(Object.entries(ends))('one that ends %s is dialled again soon each time', async (_name, end) => {
  const channel = createChannel({
    clock: systemClock,
    // The longest wait of each draw: ten of them would take minutes if each end counted as a failure.
    random: () => 0.99,
    log: silentLog,
    part: { set: () => undefined } as never,
    config: { baseUrl: await openEndingPlatform(end), token: new Secret('token'), app: 'acme', machine: 'm-1' },
    identity: () => ({}),
    mayDial: async () => undefined,
    mayHandshake: () => true,
  });
  onTestFinished(() => channel[Symbol.asyncDispose]());
  channel.start(new AbortController().signal, []);
  await expect.poll(() => channel.status().opened).toBeGreaterThan(10);
});
