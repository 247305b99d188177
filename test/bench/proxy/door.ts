// A sprite behind the proxy of its platform, whose HTTP service is the upstream of the benchmark.
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openFreePort } from '../../support/free-port.ts';
import { type BenchSprite, openBenchSprite } from '../inside/sprite.ts';

/** The URL of a sprite, and the API of its platform. */
export interface Site {
  /** The name of the sprite's URL with its port, as a `Host` header has it. */
  readonly host: string;
  readonly port: number;
  /** A call of the platform's API; resolves with the JSON of the answer. Throws for any status but 200. */
  call(method: string, path: string, body?: object): Promise<Readonly<Record<string, unknown>>>;
}

export interface Door extends Site, AsyncDisposable {
  readonly sprite: BenchSprite;
}

export interface SiteOptions {
  /** The origin of the platform, which has a sprite `bench`. */
  readonly origin: string;
  readonly token: string;
  /** The HTTP service of the sprite. */
  readonly service: { readonly cmd: string; readonly args: readonly string[]; readonly http_port: number };
  /** How long its machine and the service may take to start. */
  readonly ready_ms?: number;
}

const upstream = new URL('../gateway/upstream.ts', import.meta.url).pathname;
const READY_MS = 30_000;

export async function openDoor(dir: string): Promise<Door> {
  const sprite = await openBenchSprite(dir, ['--proxy-listen', '127.0.0.1:0']);
  try {
    const http_port = await openFreePort();
    const service = { cmd: process.execPath, args: [upstream, join(dir, 'web.sock'), String(http_port)], http_port };
    const site = await openSite({ origin: new URL(sprite.url).origin, token: sprite.token, service });
    return { sprite, ...site, [Symbol.asyncDispose]: () => sprite[Symbol.asyncDispose]() };
  } catch (error) {
    await sprite[Symbol.asyncDispose]();
    throw error;
  }
}

/** Resolves when the URL of the sprite is served by its service. */
export async function openSite({ origin, token, service, ready_ms = READY_MS }: SiteOptions): Promise<Site> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };

  async function call(method: string, path: string, body?: object) {
    const given = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await fetch(origin + path, { method, headers, ...given });
    const text = await answer.text();
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return answer.headers.get('content-type')?.startsWith('application/json') ? JSON.parse(text) : {};
  }

  const { url } = await call('PUT', '/v1/sprites/bench', { url_settings: { auth: 'public' } });
  await call('PUT', '/v1/sprites/bench/services/web?duration=0s', { ...service, needs: [] });
  const { host, port } = new URL(String(url));
  const site = { host, port: Number(port), call };
  await untilServed(site, ready_ms);
  return site;
}

async function untilServed(site: Pick<Site, 'host' | 'port'>, ready_ms: number): Promise<void> {
  const end_ms = performance.now() + ready_ms;
  for (;;) {
    const head = await readHead(site);
    if (head.startsWith('HTTP/1.1 200 ')) return;
    if (performance.now() > end_ms) throw new Error(`the URL of the sprite does not serve: ${head}`);
    await sleep(100);
  }
}

/** One request on a connection of its own: the first bytes of the answer. Names below `localhost` are in no resolver of Node. */
export function readHead({ host, port }: Pick<Site, 'host' | 'port'>): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('error', reject);
    socket.once('close', () => reject(new Error('the proxy closed the connection without an answer')));
    socket.once('data', (chunk: Buffer) => {
      resolve(chunk.toString('latin1').slice(0, 200));
      socket.destroy();
    });
    socket.write(`GET /1k HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  });
}
