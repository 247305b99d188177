// Connections to a server that speaks TLS whose handshake is not over, while it stops.
import { once } from 'node:events';
import type { Server } from 'node:http';
import { createServer } from 'node:https';
import { connect as connectTcp } from 'node:net';
import { text } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';
import { describe, expect, onTestFinished, test } from 'vitest';
import { watchConnections } from '../../src/http/connections.ts';
import type { Exchange } from '../../src/http/exchange.ts';
import { listenOnTcp } from '../../src/http/listen-on-tcp.ts';
import { listenForHellos } from '../support/client-hellos.ts';
import { makeTlsKeys, openEdgeServer } from '../support/edge-server.ts';
import { eventually } from '../support/eventually.ts';
import { openRaw } from '../support/raw-http.ts';
import { hasNoOpenssl } from '../support/tls-pair.ts';

const LONG_MS = 60_000;
const HOST = '127.0.0.1';
const ignore = () => undefined;

/** The first message of a handshake, whole. */
async function makeHello(): Promise<Buffer> {
  await using listener = await listenForHellos();
  connectTls({ host: HOST, port: listener.port }).on('error', ignore);
  const { whole } = await eventually(() => listener.hellos[0]);
  return Buffer.from(whole, 'hex');
}

/** Resolves once the server has accepted so many connections that are open. */
const accepted = (server: Server, count: number) =>
  eventually(
    () =>
      new Promise<boolean>((resolve, reject) => {
        server.getConnections((error, open) => (error === null ? resolve(open === count) : reject(error)));
      }),
  );

function openSecure(port: number) {
  const caller = connectTls({ host: HOST, port, rejectUnauthorized: false });
  onTestFinished(() => void caller.destroy());
  return caller;
}

describe.skipIf(hasNoOpenssl)('a server that speaks TLS', () => {
  const openServer = (serve: (exchange: Exchange) => void) => openEdgeServer(serve, makeTlsKeys());

  test('stops at once, whatever of their handshakes its callers have sent', async () => {
    const { server, port, shutdown } = await openServer(({ response }) => response.end('done'));
    const hello = await makeHello();
    const silent = openRaw(port, '');
    const part = openRaw(port, hello.subarray(0, hello.length / 2));
    const answered = openRaw(port, hello);
    const secure = openSecure(port);
    await Promise.all([answered.until(/./), once(secure, 'secureConnect'), accepted(server, 4)]);
    // A server that closes a connection may reset it.
    const closed = new Promise((resolve) => secure.on('error', ignore).once('close', resolve).resume());
    await shutdown.drain(LONG_MS);
    await Promise.all([silent.ended, part.ended, answered.ended, closed]);
  });

  test('gives the answers that are due', async () => {
    const asked = Promise.withResolvers<Exchange>();
    const { server, port, shutdown } = await openServer(asked.resolve);
    const silent = openRaw(port, '');
    const caller = openSecure(port);
    caller.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    const { response } = await asked.promise;
    await accepted(server, 2);
    const drained = shutdown.drain(LONG_MS);
    await silent.ended;
    response.end('whole');
    expect(await text(caller)).toMatch(/^HTTP\/1\.1 200 [\s\S]*whole/);
    await drained;
  });

  test('cuts them at the deadline of a hand-over, which leaves them alone until then', async () => {
    const { server, port, shutdown } = await openServer(({ response }) => response.end('done'));
    const silent = openRaw(port, '');
    await accepted(server, 1);
    let isLate = false;
    const handedOver = shutdown.handOver(20, {
      onDeadline: () => {
        isLate = true;
      },
    });
    await silent.ended;
    expect(isLate).toBe(true);
    await handedOver;
  });

  test('leaves them alone where only connections that were used are ended, and cuts them with all', async () => {
    const { cert, key } = makeTlsKeys();
    const server = createServer({ cert, key }, (_request, response) => response.end('done')) as unknown as Server;
    const connections = watchConnections(server, 'secureConnection');
    const { port } = await listenOnTcp(server, HOST, 0);
    onTestFinished(() => void server.close());
    const socket = connectTcp(port, HOST);
    onTestFinished(() => void socket.destroy());
    const silent = openRaw(port, '');
    await accepted(server, 2);
    connections.closeIdle('used');
    const caller = connectTls({ socket, rejectUnauthorized: false });
    caller.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    expect(await text(caller)).toMatch(/^HTTP\/1\.1 200 [\s\S]*done/);
    connections.cut();
    await silent.ended;
  });
});
