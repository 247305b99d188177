// Callers of a quiet stream who are gone without a word: the kernel probes their connections, so that the stream ends.
import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { TCP_KEEP_ALIVE_MS } from '../../src/http/tcp-keep-alive.ts';
import { makeTlsKeys, openEdgeServer } from '../support/edge-server.ts';
import { eventually } from '../support/eventually.ts';
import { readNextProbe } from '../support/next-probe.ts';
import { hasNoOpenssl } from '../support/tls-pair.ts';

test.each(hasNoOpenssl ? ['TCP'] : ['TCP', 'TLS'])(
  'the connection of a quiet stream over %s is probed',
  async (over) => {
    const isSecure = over === 'TLS';
    const { port } = await openEdgeServer(
      ({ response }) => void response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n'),
      isSecure ? makeTlsKeys() : undefined,
    );
    const at = { host: '127.0.0.1', port };
    const caller = isSecure ? connectTls({ ...at, rejectUnauthorized: false }) : connectTcp(at);
    onTestFinished(() => void caller.destroy());
    caller.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await once(caller, 'data');
    const other = caller.localPort ?? 0;
    const probe_ms = await eventually(() => readNextProbe({ own: port, other }), 5_000);
    expect(probe_ms).toBeLessThanOrEqual(TCP_KEEP_ALIVE_MS);
  },
);
