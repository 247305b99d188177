// One server of an edge on a free port of 127.0.0.1, over TCP or TLS, whose requests a test answers.
import { readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { createEdgeServer, type TlsKeys } from '../../src/http/edge-server.ts';
import type { Exchange } from '../../src/http/exchange.ts';
import { listenOnTcp } from '../../src/http/listen-on-tcp.ts';
import { Shutdown } from '../../src/http/shutdown.ts';
import { silentLog } from './silent-log.ts';
import { tempDir } from './temp-dir.ts';
import { makeTlsPair } from './tls-pair.ts';

export interface OpenedEdgeServer {
  readonly server: Server;
  readonly port: number;
  readonly shutdown: Shutdown;
}

/** It speaks TLS where keys are given. */
export async function openEdgeServer(serve: (exchange: Exchange) => void, tls?: TlsKeys): Promise<OpenedEdgeServer> {
  const shutdown = new Shutdown(() => undefined);
  const server = createEdgeServer({ listener: 'test', upgrades: () => false, serve, shutdown, log: silentLog, tls });
  const { port } = await listenOnTcp(server, '127.0.0.1', 0);
  onTestFinished(() => shutdown.drain(0));
  return { server, port, shutdown };
}

/** A key and a certificate for `localhost`. */
export function makeTlsKeys(): TlsKeys {
  const dir = tempDir();
  makeTlsPair(dir, 'localhost', ['DNS:localhost']);
  return { cert: readFileSync(join(dir, 'cert.pem')), key: readFileSync(join(dir, 'key.pem')) };
}
