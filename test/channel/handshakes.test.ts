// The TLS handshake of a channel, between a connection that is made and the question whether it may begin.
import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { expect, test } from 'vitest';
import { dialChannel } from '../../src/agent/channel/dial-channel.ts';
import { CHANNEL_PROTOCOL } from '../../src/contract/channel.ts';
import { listenForHellos } from '../support/client-hellos.ts';
import { eventually } from '../support/eventually.ts';
import { loudly } from '../support/loudly.ts';
import { tempDir } from '../support/temp-dir.ts';

const place = { app: 'a', machine: 'm', headers: {}, deadline_ms: 60_000, signal: new AbortController().signal };
const isWithoutOpenssl = loudly(
  spawnSync('openssl', ['version']).status !== 0,
  'no certificate is made here, for want of openssl',
);

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

test.skipIf(isWithoutOpenssl)(
  'makes a channel with a platform of the name that its certificate has, and with no other',
  async () => {
    const dir = tempDir();
    const [key, cert] = [join(dir, 'key.pem'), join(dir, 'cert.pem')];
    const words = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
    execFileSync('openssl', [...words, ...subject, '-keyout', key, '-out', cert], { stdio: 'ignore' });
    const server = createServer({ key: readFileSync(key), cert: readFileSync(cert) });
    server.on('upgrade', (_request, socket) => {
      socket.end(
        `HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: ${CHANNEL_PROTOCOL}\r\n\r\nhello`,
      );
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const before = getCACertificates('default');
    setDefaultCACertificates([...before, readFileSync(cert, 'utf8')]);
    const dial = (host: string) =>
      dialChannel({ ...place, baseUrl: `https://${host}:${port}`, mayHandshake: () => true });
    try {
      const channel = await dial('localhost');
      expect(String((await once(channel, 'data'))[0])).toBe('hello');
      channel.destroy();
      await expect(dial('127.0.0.1')).rejects.toThrow(/altname/i);
    } finally {
      setDefaultCACertificates(before);
      server.close();
      server.closeAllConnections();
    }
  },
);
