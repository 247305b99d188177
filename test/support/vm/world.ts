// What is around a virtual machine of the suite: a platform with a connector, a provider, and a database node, all at ports that stay
// the same while the platform is exchanged for the one of an earlier moment.
import { cpSync } from 'node:fs';
import { createServer as createHttpServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { Secret } from '../../../src/core/secret.ts';
import { atEnd } from '../at-end.ts';
import { openTestPlatform, type TestPlatform } from '../open-platform.ts';
import { tempDir } from '../temp-dir.ts';

export interface Arrival {
  /** The first request of a connection to the platform, headers included. */
  readonly head: string;
  readonly at_ms: number;
}

export interface World {
  readonly environment: Readonly<Record<string, string>>;
  readonly token: string;
  /** In the order of the connections. */
  readonly arrivals: readonly Arrival[];
  /** How many streams the database node has been asked for. */
  readonly streams: readonly number[];
  /** How many calls the provider has had. */
  calls(): number;
  platform(): TestPlatform;
  /** A transaction that every open stream is told of. */
  writeTransaction(): void;
  /** Keeps the records of this moment. */
  save(): Promise<void>;
  /** Serves the records of the saved moment, and forgets the arrivals. */
  rewind(): Promise<void>;
}

const HOST = '10.77.0.1';
const SPRITE = 'web';

export async function openWorld(): Promise<World> {
  let calls = 0;
  const provider = createHttpServer((_call, answer) => {
    calls += 1;
    answer.end('provider\n');
  });
  const node = openNode();
  const arrivals: Arrival[] = [];
  let target = 0;
  const sockets = new Set<Socket>();
  const way = createServer((guest) => pass(guest, target, arrivals, sockets));
  const [providerPort, wayPort] = [await listen(provider), await listen(way)];
  atEnd(() => {
    for (const socket of sockets) socket.destroy();
    way.close();
    provider.closeAllConnections();
    provider.close();
  });
  const entry = {
    provider: 'sample',
    display_name: 'sample',
    description: 'a provider of a test',
    address: { type: 'fixed', url: `http://127.0.0.1:${providerPort}` },
    injection: { in: 'header', name: 'authorization', prefix: 'Bearer ' },
    allow_http: true,
    sample_path: '/',
  } as const;
  const open = async (dir: string) => {
    const platform = await openTestPlatform({ dir, catalogue: [entry], checkAnswers: false });
    target = Number(new URL(platform.url).port);
    return platform;
  };
  const dir = tempDir();
  let platform = await open(dir);
  await platform.admin.createSprite({ organization: 'acme', name: SPRITE, external: true });
  const token = await platform.admin.createToken({ organization: 'acme', sprite: SPRITE, name: 'agent' });
  const key = { api_key: new Secret('key:1'), access_policy: { allow_all: true } };
  await platform.admin.createConnector({ organization: 'acme', provider: 'sample', id: 'conn_1', ...key });
  const nodePort = await node.listening;
  const saved = join(tempDir(), 'saved');
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    environment: {
      REMORA_BASE_URL: `http://${HOST}:${wayPort}`,
      REMORA_SPRITE: SPRITE,
      REMORA_NODE_URL: `http://${HOST}:${nodePort}`,
    },
    token: token.reveal(),
    arrivals,
    streams: node.streams,
    calls: () => calls,
    platform: () => platform,
    writeTransaction: node.writeTransaction,
    async save() {
      cut();
      await platform[Symbol.asyncDispose]();
      cpSync(dir, saved, { recursive: true });
      platform = await open(dir);
    },
    async rewind() {
      cut();
      await platform[Symbol.asyncDispose]();
      const copy = join(tempDir(), 'platform');
      cpSync(saved, copy, { recursive: true });
      arrivals.length = 0;
      platform = await open(copy);
    },
  };
}

function pass(guest: Socket, target: number, arrivals: Arrival[], sockets: Set<Socket>): void {
  const platform = connect(target, '127.0.0.1');
  let head = '';
  const read = (chunk: Buffer) => {
    head += chunk.toString('latin1');
    if (!head.includes('\r\n\r\n')) return;
    arrivals.push({ head, at_ms: performance.now() });
    guest.off('data', read);
  };
  guest.on('data', read);
  for (const [from, to] of [
    [guest, platform],
    [platform, guest],
  ] as const) {
    sockets.add(from);
    from.on('error', () => undefined);
    from.on('close', () => {
      sockets.delete(from);
      to.destroy();
    });
    from.pipe(to);
  }
}

/** A primary that tells of transactions, one id after the other. */
function openNode() {
  const streams: number[] = [];
  const open = new Set<ServerResponse>();
  let id = 0x10;
  const toEvent = () => {
    const txID = id.toString(16).padStart(16, '0');
    const data = { txID, postApplyChecksum: txID, pageSize: 4096, commit: 2, timestamp: new Date().toISOString() };
    return `${JSON.stringify({ type: 'tx', db: 'db', data })}\n`;
  };
  const server = createHttpServer((call, answer) => {
    if (call.url !== '/events') {
      answer.writeHead(200, { 'content-type': 'application/json' });
      answer.end('{"isPrimary":true,"path":"/litefs"}');
      return;
    }
    streams.push(performance.now());
    open.add(answer);
    answer.on('close', () => open.delete(answer));
    answer.writeHead(200, { 'content-type': 'application/json', 'litefs-id': 'AB'.repeat(8) });
    answer.write('{"type":"init","data":{"isPrimary":true,"hostname":"node"}}\n');
  });
  atEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    streams,
    listening: listen(server),
    writeTransaction() {
      id += 1;
      for (const answer of open) answer.write(toEvent());
    },
  };
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}
