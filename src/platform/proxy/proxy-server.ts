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
import type { HostNames, HostTarget, SpriteTarget } from './host-names.ts';
import type { OpenCalls } from './open-calls.ts';
import type { OwnPages } from './own-pages.ts';
import { parseHost, toHostName } from './parse-host.ts';
import { answerError } from './proxy-pages.ts';
import type { LoggedRequest, RequestLog } from './request-log.ts';
import type { SpriteRoute } from './sprite-route.ts';
import type { UrlAccess } from './url-access.ts';
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
      const served = problem === undefined ? serve(deps, exchange, logged) : Promise.reject(problem);
      served.catch((error: unknown) => fail(error, exchange)).finally(() => requests.end(logged));
    },
    shutdown,
    log,
    tls: deps.tls,
  });
  // Who has sent the whole request may end its side, and gets the answer.
  Reflect.set(server, 'httpAllowHalfOpen', true);
  return server;
}

async function serve(deps: ProxyServerDeps, exchange: Exchange, logged: LoggedRequest): Promise<void> {
  const { request, response } = exchange;
  checkRequest(request);
  deps.shutdown.checkOpen();
  const name = toHostName(request.headers.host ?? '');
  const target = name === undefined ? undefined : (deps.names.recall(name) ?? (await find(deps, name)));
  if (name === undefined || target === undefined) {
    const message = `no such host is served here; the names are {sprite}.{organization}.${deps.domain} and {app}.apps.${deps.domain}`;
    throw new RemoraError('unknown_host', message);
  }
  logged.target = target;
  if (deps.pages.isOwn(request.url ?? '')) return await deps.pages.serve(request, response, name);
  if (target.type === 'app') return await deps.apps.serve(exchange, target);
  return await serveSprite(deps, exchange, name, target);
}

/** Undefined for a name that is none of this domain. */
async function find({ domain, names }: ProxyServerDeps, name: string): Promise<HostTarget | undefined> {
  const named = parseHost(name, domain);
  return named === undefined ? undefined : await names.find(name, named);
}

async function serveSprite(
  { access, pages, sprites, open }: ProxyServerDeps,
  exchange: Exchange,
  name: string,
  target: SpriteTarget,
): Promise<void> {
  const { request, response } = exchange;
  const judged = access.judge(request, name, target);
  const verdict = judged instanceof Promise ? await judged : judged;
  if (verdict === 'allowed') {
    const call = open.begin(exchange, name);
    return await sprites.serve(exchange, target).finally(() => open.end(call));
  }
  if (isNavigation(request)) return pages.sendToSignOn(request, response, name);
  throw new RemoraError('unauthorized', 'send Authorization: Bearer and a token of the organization or the sprite');
}
