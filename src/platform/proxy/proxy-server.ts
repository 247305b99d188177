// The listener in front: takes each request to the sprite or app that its host name stands for.
import type { Server } from 'node:http';
import type { Log } from '../../core/log.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { checkRequest } from '../../http/check-request.ts';
import { createEdgeServer, type TlsKeys } from '../../http/edge-server.ts';
import { type MapError, toKnownError } from '../../http/error-answer.ts';
import type { Exchange } from '../../http/exchange.ts';
import type { Shutdown } from '../../http/shutdown.ts';
import type { AppRoute } from './app-route.ts';
import type { HostNames, HostTarget } from './host-names.ts';
import type { OpenCalls } from './open-calls.ts';
import type { OwnPages } from './own-pages.ts';
import { parseHost, toHostName } from './parse-host.ts';
import type { Passage } from './passage.ts';
import { answerError } from './proxy-pages.ts';
import type { RequestLog } from './request-log.ts';
import type { SpriteRoute } from './sprite-route.ts';
import type { AccessVerdict, UrlAccess } from './url-access.ts';
import { isNavigation } from './wants-page.ts';

export interface ProxyServerDeps {
  readonly domain: string;
  readonly names: HostNames;
  readonly access: UrlAccess;
  readonly pages: OwnPages;
  readonly sprites: SpriteRoute;
  readonly apps: AppRoute;
  readonly open: OpenCalls;
  readonly requests: RequestLog;
  readonly shutdown: Shutdown;
  readonly tls: TlsKeys | undefined;
  readonly mapError: MapError;
  readonly log: Log;
}

/** A server that does not listen yet. */
export function createProxyServer(deps: ProxyServerDeps): Server {
  const { requests, shutdown, log, mapError } = deps;

  function fail(error: unknown, { request, response }: Exchange): void {
    const known = toKnownError(error, mapError);
    if (known === undefined) log.error({ err: error }, 'a request through the proxy failed');
    answerError(request, response, error, mapError);
  }

  const server = createEdgeServer({
    listener: 'proxy',
    upgrades: (_request, protocol) => protocol === 'websocket',
    serve(exchange, problem) {
      const logged = requests.begin(exchange.request, exchange.response);
      const passage: Passage = { logged, call: undefined, counted: undefined };
      begin(deps, exchange, passage, problem).then(
        () => end(deps, passage),
        (error: unknown) => {
          try {
            fail(error, exchange);
          } finally {
            end(deps, passage);
          }
        },
      );
    },
    shutdown,
    log,
    tls: deps.tls,
  });
  // Who has sent the whole request may end its side, and gets the answer.
  Reflect.set(server, 'httpAllowHalfOpen', true);
  return server;
}

/** Throws nothing. Of a request whose way is known and which waits for nothing it makes no promise of its own. */
function begin(
  deps: ProxyServerDeps,
  exchange: Exchange,
  passage: Passage,
  problem: RemoraError | undefined,
): Promise<unknown> {
  try {
    if (problem !== undefined) throw problem;
    return serve(deps, exchange, passage);
  } catch (error) {
    return Promise.reject(error);
  }
}

function end({ open, requests }: ProxyServerDeps, { logged, call, counted }: Passage): void {
  counted?.[Symbol.dispose]();
  if (call !== undefined) open.end(call);
  requests.end(logged);
}

function serve(deps: ProxyServerDeps, exchange: Exchange, passage: Passage): Promise<unknown> {
  const { request } = exchange;
  checkRequest(request);
  deps.shutdown.checkOpen();
  const name = toHostName(request.headers.host ?? '');
  if (name === undefined) throw noHost(deps);
  const target = deps.names.recall(name);
  if (target !== undefined) return serveTarget(deps, exchange, passage, name, target);
  return find(deps, name).then((found) => {
    if (found === undefined) throw noHost(deps);
    return serveTarget(deps, exchange, passage, name, found);
  });
}

function serveTarget(
  deps: ProxyServerDeps,
  exchange: Exchange,
  passage: Passage,
  name: string,
  target: HostTarget,
): Promise<unknown> {
  const { request, response } = exchange;
  passage.logged.target = target;
  if (deps.pages.isOwn(request.url ?? '')) return deps.pages.serve(request, response, name);
  if (target.type === 'app') return deps.apps.serve(exchange, target);
  const enter = (verdict: AccessVerdict) => {
    if (verdict !== 'allowed') return signOn(deps, exchange, name);
    passage.call = deps.open.begin(exchange, name);
    return deps.sprites.serve(exchange, target, passage);
  };
  const verdict = deps.access.judge(request, name, target);
  return verdict instanceof Promise ? verdict.then(enter) : enter(verdict);
}

/** Undefined for a name that is none of this domain. */
async function find({ domain, names }: ProxyServerDeps, name: string): Promise<HostTarget | undefined> {
  const named = parseHost(name, domain);
  return named === undefined ? undefined : await names.find(name, named);
}

async function signOn({ pages }: ProxyServerDeps, { request, response }: Exchange, name: string): Promise<void> {
  if (isNavigation(request)) return pages.sendToSignOn(request, response, name);
  throw new RemoraError('unauthorized', 'send Authorization: Bearer and a token of the organization or the sprite');
}

function noHost({ domain }: ProxyServerDeps): RemoraError {
  const names = `{sprite}.{organization}.${domain} and {app}.apps.${domain}`;
  return new RemoraError('unknown_host', `no such host is served here; the names are ${names}`);
}
