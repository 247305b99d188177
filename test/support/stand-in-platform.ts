// A platform for tests of the agent's gateway: it serves what the test says are the sprite and the connectors, and hands each
// gateway call to the test.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { atEnd } from './at-end.ts';

export interface StandInConnector {
  readonly id: string;
  readonly provider: string;
  readonly access_policy?: unknown;
}

export interface StandInState {
  sprite: { readonly name: string; readonly labels: readonly string[] };
  connectors: readonly StandInConnector[];
  /** `up`: answers. `refuse`: 503 for everything but the gateway. `hang`: never answers. */
  mode: 'up' | 'refuse' | 'hang';
  /** The version that the stream of changes begins with; null: there is no such stream. See `change`. */
  version: string | null;
  /** What the stream of changes alone does. `refuse`: 503. `page`: the 404 of a proxy. `gone`: 404 with Remora's marker. */
  changes: 'up' | 'refuse' | 'page' | 'gone';
  /** Answers gateway calls. */
  onGateway: (request: IncomingMessage, response: ServerResponse) => void;
}

export interface StandInPlatform {
  readonly url: string;
  readonly state: StandInState;
  /** Every gateway call that arrived. */
  readonly calls: readonly {
    readonly method: string;
    readonly target: string;
    readonly rawHeaders: readonly string[];
  }[];
  /** How often the connectors were asked for. */
  readonly fetches: number;
  /** Streams of changes that are open. */
  readonly watchers: number;
  /** What each reader of changes sent as `since`. */
  readonly sinces: readonly (string | null)[];
  /** Readers of changes that were refused. */
  readonly refused: number;
  /** Breaks off every stream of changes. */
  cutWatchers(): void;
  /** Tells every reader of the stream of changes that this is the version now. */
  change(version: string): void;
  close(): Promise<void>;
}

export async function openStandInPlatform(state: Partial<StandInState> = {}): Promise<StandInPlatform> {
  const calls: { method: string; target: string; rawHeaders: readonly string[] }[] = [];
  let fetches = 0;
  const watchers = new Set<ServerResponse>();
  const sinces: (string | null)[] = [];
  let refused = 0;
  const full: StandInState = {
    sprite: { name: 'dev-1', labels: [] },
    connectors: [],
    mode: 'up',
    version: null,
    changes: 'up',
    onGateway: (_request, response) => response.end('ok'),
    ...state,
  };
  const server = createServer((request, response) => {
    const target = request.url ?? '';
    if (target.startsWith('/v1/gateway/changes') && full.mode !== 'hang') {
      if (full.version === null) {
        response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":"not_found","message":"no"}');
        return;
      }
      if (full.changes !== 'up') refused += 1;
      if (full.changes === 'page') {
        response.writeHead(404, { 'content-type': 'text/html' }).end('<html><h1>nginx</h1></html>');
        return;
      }
      if (full.changes === 'gone') {
        response.writeHead(404, { 'remora-error': 'not_found' }).end('{"error":"not_found","message":"no"}');
        return;
      }
      if (full.changes === 'refuse') {
        response
          .writeHead(503, { 'content-type': 'application/json' })
          .end('{"error":"not_ready","message":"not now"}');
        return;
      }
      sinces.push(new URLSearchParams(target.split('?')[1]).get('since'));
      watchers.add(response);
      response.once('close', () => watchers.delete(response));
      response.write(`${JSON.stringify({ type: 'hello', version: full.version })}\n`);
      return;
    }
    if (target.startsWith('/v1/gateway/') && target !== '/v1/gateway/list') {
      calls.push({ method: request.method ?? '', target, rawHeaders: request.rawHeaders });
      full.onGateway(request, response);
      return;
    }
    if (target.startsWith('/v1/oauth/')) fetches += 1;
    if (full.mode === 'hang') return;
    const body = full.mode === 'up' ? toBody(target, full) : undefined;
    response.writeHead(body === undefined ? 503 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body ?? { error: 'not_ready', message: 'the platform is being repaired' }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  atEnd(close);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    state: full,
    calls,
    get fetches() {
      return fetches;
    },
    get watchers() {
      return watchers.size;
    },
    sinces,
    get refused() {
      return refused;
    },
    cutWatchers() {
      for (const watcher of watchers) watcher.destroy();
    },
    change(version) {
      full.version = version;
      for (const watcher of watchers) watcher.write(`${JSON.stringify({ type: 'changed', version })}\n`);
    },
    close,
  };
}

function toBody(target: string, { sprite, connectors }: StandInState): unknown {
  if (target === '/v1/gateway/list') {
    const connections = connectors.map(({ id, provider }) => ({
      id,
      provider,
      display_name: `The ${provider}`,
      gateway_base_url: `https://platform.test/v1/gateway/${provider}/${id}`,
    }));
    return { connections, available: [{ provider: 'github', display_name: 'GitHub', setup_url: 'https://p.test/s' }] };
  }
  if (target === '/v1/oauth/connections') {
    return { connections: connectors.map((item) => ({ ...item, provider_account_id: 'a', api_key: 'leaked' })) };
  }
  const time = '2026-01-01T00:00:00.000Z';
  const stamps = { created_at: time, updated_at: time };
  const labels = sprite.labels.length === 0 ? {} : { labels: sprite.labels };
  const url = 'https://dev-1.sprites.test';
  return { id: 's', name: sprite.name, organization: 'org-a', url, status: 'running', ...stamps, ...labels };
}
