// The connections to another platform process: one that is gone without a word is noticed.
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { PIPE_PROTOCOL } from '../../src/contract/pipes.ts';
import { TCP_KEEP_ALIVE_MS } from '../../src/http/tcp-keep-alive.ts';
import { createOtherPlatforms } from '../../src/platform/sprite-api/other-platforms.ts';
import { makeTlsKeys } from '../support/edge-server.ts';
import { eventually } from '../support/eventually.ts';
import { readNextProbe } from '../support/next-probe.ts';
import { hasNoOpenssl } from '../support/tls-pair.ts';

const MACHINE = { id: 'm', app: 'acme', organization_id: 'o' };

/** What stands for the other process gives each pipe that is asked for. Returns its address and port. */
async function openOther(isSecure: boolean) {
  const refuse: RequestListener = (_request, response) => response.writeHead(404).end();
  const server = isSecure ? createSecureServer(trust(makeTlsKeys()), refuse) : createServer(refuse);
  server.on('upgrade', (_request, socket) => {
    onTestFinished(() => void socket.destroy());
    socket.on('error', () => undefined);
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${PIPE_PROTOCOL}\r\n\r\n`);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { address: `${isSecure ? 'https://localhost' : 'http://127.0.0.1'}:${port}`, port };
}

/** This process trusts the certificate while the test runs. */
function trust(keys: ReturnType<typeof makeTlsKeys>) {
  const before = getCACertificates('default');
  setDefaultCACertificates([...before, keys.cert.toString()]);
  onTestFinished(() => setDefaultCACertificates(before));
  return keys;
}

test.each(hasNoOpenssl ? ['TCP'] : ['TCP', 'TLS'])(
  'a pipe over %s is probed while nothing comes through it',
  async (over) => {
    const isSecure = over === 'TLS';
    const { address, port } = await openOther(isSecure);
    await using platforms = createOtherPlatforms({
      hosts: { find: async () => ({ address, key_ids: ['key'] }) },
      passes: { make: () => 'proof' },
      keyIds: ['key'],
    });
    const pipe = await platforms.openPipe('other', MACHINE, 'port:80');
    onTestFinished(() => void pipe.destroy());
    const probe_ms = await eventually(() => readNextProbe({ other: port }), 5_000);
    expect(probe_ms).toBeLessThanOrEqual(TCP_KEEP_ALIVE_MS);
  },
);
