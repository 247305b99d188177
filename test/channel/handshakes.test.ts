// The TLS handshake of a channel, between a connection that is made and the question whether it may begin.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { dialChannel } from '../../src/agent/channel/dial-channel.ts';
import { CHANNEL_PROTOCOL } from '../../src/contract/channel.ts';
import { listenForHellos } from '../support/client-hellos.ts';
import { eventually } from '../support/eventually.ts';
import { openFullListener } from '../support/full-listener.ts';
import { tempDir } from '../support/temp-dir.ts';
import { hasNoOpenssl, makeTlsPair } from '../support/tls-pair.ts';

const place = { app: 'a', machine: 'm', headers: {}, deadline_ms: 60_000, signal: new AbortController().signal };

test('is not begun after a resume, although the connection is there', async () => {
  await using listener = await listenForHellos();
  const baseUrl = `https://localhost:${listener.port}`;
  const dial = (mayBegin: boolean) => dialChannel({ ...place, baseUrl, mayHandshake: () => mayBegin });
  await expect(dial(false)).rejects.toThrow('the machine was resumed');
  // The caller knows of a connection before the listener does.
  await eventually(() => listener.connections === 1);
  expect(listener.hellos).toEqual([]);
  await expect(dial(true)).rejects.toThrow();
  expect([listener.connections, listener.hellos.length]).toEqual([2, 1]);
});

/** A platform with a certificate for `localhost` that this process trusts. What comes over its channels goes back. */
async function openSecurePlatform(): Promise<{ readonly port: number }> {
  const dir = tempDir();
  makeTlsPair(dir, 'localhost', ['DNS:localhost']);
  const cert = readFileSync(join(dir, 'cert.pem'), 'utf8');
  const server = createServer({ key: readFileSync(join(dir, 'key.pem')), cert });
  server.on('upgrade', (_request, socket) => {
    socket.on('error', () => undefined);
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: ${CHANNEL_PROTOCOL}\r\n\r\nhello`,
    );
    socket.pipe(socket);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const before = getCACertificates('default');
  setDefaultCACertificates([...before, cert]);
  onTestFinished(() => {
    setDefaultCACertificates(before);
    server.close();
    server.closeAllConnections();
  });
  return { port: (server.address() as AddressInfo).port };
}

const textOf = async (channel: Duplex) => String((await once(channel, 'data'))[0]);

test.skipIf(hasNoOpenssl)(
  'makes a channel with a platform of the name that its certificate has, and with no other',
  async () => {
    const { port } = await openSecurePlatform();
    const dial = (host: string) =>
      dialChannel({ ...place, baseUrl: `https://${host}:${port}`, mayHandshake: () => true });
    const channel = await dial('localhost');
    expect(await textOf(channel)).toBe('hello');
    channel.destroy();
    await expect(dial('127.0.0.1')).rejects.toThrow(/altname/i);
  },
);

test.skipIf(hasNoOpenssl)('a channel that is open outlives all that ends the dialling', async () => {
  const { port } = await openSecurePlatform();
  const dialling = new AbortController();
  const baseUrl = `https://localhost:${port}`;
  const channel = await dialChannel({ ...place, baseUrl, mayHandshake: () => true, signal: dialling.signal });
  expect(await textOf(channel)).toBe('hello');
  dialling.abort();
  // What an abort ends is over in a turn after this one.
  await nextTurn();
  channel.write('still here');
  expect(await textOf(channel)).toBe('still here');
  channel.destroy();
});

test('a dialling that is ended leaves no connection behind', async () => {
  const address = await openFullListener();
  const before = countDialled(address);
  const dialling = new AbortController();
  const baseUrl = address.replace('http:', 'https:');
  const dialled = dialChannel({ ...place, baseUrl, mayHandshake: () => true, signal: dialling.signal });
  await eventually(() => countDialled(address) === before + 1);
  dialling.abort();
  await expect(dialled).rejects.toThrow('aborted');
  await eventually(() => countDialled(address) === before);
});

const SYN_SENT = '02';

/** How many connections to an address have no answer yet. */
function countDialled(address: string): number {
  const port = Number(new URL(address).port).toString(16).toUpperCase().padStart(4, '0');
  const rows = readFileSync('/proc/net/tcp', 'utf8').split('\n').slice(1);
  return rows.filter((row) => {
    const [, , remote, state] = row.trim().split(/\s+/);
    return remote?.endsWith(`:${port}`) === true && state === SYN_SENT;
  }).length;
}
