// Opens the proxy in front, when the platform was given an address for it.
import type { IncomingMessage, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../../core/clock.ts';
import { errorCode } from '../../core/error-code.ts';
import type { Log } from '../../core/log.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { MapError } from '../../http/error-answer.ts';
import { listenOnTcp } from '../../http/listen-on-tcp.ts';
import { Shutdown } from '../../http/shutdown.ts';
import { createAppStore } from '../apps/app-store.ts';
import type { Changes } from '../changes.ts';
import type { MachineRow } from '../machines/records/machine-row.ts';
import type { MachineStore } from '../machines/records/machine-store.ts';
import type { OrganizationStore } from '../organizations/organization-store.ts';
import { createCookies } from '../sign-on/cookies.ts';
import { createFormTokens } from '../sign-on/form-tokens.ts';
import { createSessionStore } from '../sign-on/session-store.ts';
import { createSignOnStore } from '../sign-on/sign-on-store.ts';
import { createUrlCodes } from '../sign-on/url-codes.ts';
import type { SpriteStore } from '../sprites/sprite-store.ts';
import type { Storage } from '../storage/storage.ts';
import type { CallerStore } from '../tokens/caller-store.ts';
import { createWrongTokens, type WrongTokenRates } from '../tokens/wrong-tokens.ts';
import type { UserStore } from '../users/user-store.ts';
import type { AppPlaces } from './app-places.ts';
import { AppRoute } from './app-route.ts';
import { CallerReader, toAddress } from './caller-facts.ts';
import { HostNames } from './host-names.ts';
import { MachineCalls } from './machine-calls.ts';
import type { MachineTraffic } from './machine-traffic.ts';
import type { MachineWays } from './machine-ways.ts';
import { OpenCalls } from './open-calls.ts';
import { OwnPages } from './own-pages.ts';
import { parseHost, toAppHost } from './parse-host.ts';
import type { ProxyAddresses } from './proxy-addresses.ts';
import type { ProxyOptions } from './proxy-options.ts';
import { ProxySenders } from './proxy-senders.ts';
import { createProxyServer } from './proxy-server.ts';
import { RequestLog } from './request-log.ts';
import { sharesSite } from './site.ts';
import { SpriteRoute } from './sprite-route.ts';
import type { TcpCalls } from './tcp-calls.ts';
import { TcpServices } from './tcp-services.ts';
import { followTlsFiles, readTlsFiles } from './tls-files.ts';
import { TrustedPeers } from './trusted-peers.ts';
import { UrlAccess } from './url-access.ts';
import { createUrlCookies } from './url-cookies.ts';

export interface OpenProxyDeps {
  readonly options: ProxyOptions;
  readonly addresses: ProxyAddresses;
  readonly storage: Storage;
  readonly organizations: Pick<OrganizationStore, 'findBySlug'>;
  readonly sprites: Pick<SpriteStore, 'findByName'>;
  readonly machines: Pick<MachineStore, 'findBySprite' | 'list' | 'find'>;
  readonly callers: Pick<CallerStore, 'find'>;
  readonly users: Pick<UserStore, 'roleIn'>;
  readonly changes: Pick<Changes, 'subscribe'>;
  readonly traffic: MachineTraffic;
  readonly ways: MachineWays;
  readonly places: AppPlaces;
  readonly tcpCalls: TcpCalls;
  /** All machines of an app. */
  readonly findMachines: (app: string) => Promise<readonly MachineRow[]>;
  /** The key of its cookies. */
  readonly key: Buffer;
  readonly platformUrl: () => string;
  /** Where callers reach the platform, if that was set. */
  readonly publicUrl: string | undefined;
  readonly wrongTokens: WrongTokenRates | undefined;
  /** Shows how many requests came among the metrics. */
  readonly showRequests: (totals: () => Iterable<readonly [app: string, kind: string, count: number]>) => void;
  readonly mapError: MapError;
  readonly clock: Clock;
  readonly log: Log;
}

const DRAIN_MS = 2_000;

/** Throws `not_configured` for a domain on the site of the platform, and `address_in_use` and the like of the listener. */
export async function openProxy(deps: OpenProxyDeps): Promise<AsyncDisposable> {
  const { options, addresses, clock, log } = deps;
  checkSite(addresses.domain, deps.publicUrl);
  const now_ms = () => clock.mono_ms();
  const cookies = createUrlCookies(
    createCookies(() => addresses.toOrigin(addresses.domain)),
    createFormTokens(deps.key),
    () => clock.wall_ms(),
  );
  const shutdown = new Shutdown(() => undefined);
  const names = new HostNames({ ...deps, apps: createAppStore(deps.storage), now_ms });
  const senders = createSenders(options, shutdown.signal, log);
  const callerReader = new CallerReader(options, senders);
  const routing = { ...deps, calls: new MachineCalls(now_ms), callerReader };
  const addressOf = (request: IncomingMessage) => callerReader.addressOf(request);
  const requests = new RequestLog({ share: options.logShare ?? 0, log, addressOf, now_ms });
  deps.showRequests(() => requests.totals());
  const access = new UrlAccess({
    ...deps,
    sessions: createSessionStore(deps.storage),
    callerReader,
    cookies,
    toOrigin: addresses.toOrigin,
    wrongTokens: createWrongTokens(now_ms, deps.wrongTokens),
  });
  const open = new OpenCalls({
    ...deps,
    async find(name) {
      const named = parseHost(name, addresses.domain);
      const target = names.recall(name) ?? (named && (await names.find(name, named)));
      return target?.type === 'sprite' ? target : undefined;
    },
    judge: ({ request }, name, target) => access.judge(request, name, target),
  });
  const server = createProxyServer({
    domain: addresses.domain,
    names,
    access,
    pages: new OwnPages({
      addresses,
      cookies,
      codes: createUrlCodes(createSignOnStore(deps.storage), clock),
      platformUrl: deps.platformUrl,
    }),
    sprites: new SpriteRoute(routing),
    apps: new AppRoute({
      ...routing,
      findMachines: (app) => names.findMachines(app),
      toSecureOrigin: (app) => (addresses.isSecure ? addresses.toOrigin(toAppHost(app, addresses.domain)) : undefined),
    }),
    open,
    requests,
    tls: options.tls && readTlsFiles(options.tls),
    shutdown,
    mapError: deps.mapError,
    log,
  });
  senders?.guard(server);
  const { port } = await listen(server, options.listen);
  addresses.listening(port);
  log.info({ domain: addresses.domain, host: options.listen.host, port }, 'proxy');
  const services = new TcpServices({
    addresses: options.tcp ?? [],
    findMachines: deps.findMachines,
    calls: deps.tcpCalls,
    log,
  });
  services.start();
  using stack = new DisposableStack();
  if (options.tls !== undefined) stack.use(followTlsFiles(options.tls, server, log));
  const following = stack.move();
  return {
    async [Symbol.asyncDispose]() {
      following.dispose();
      await services[Symbol.asyncDispose]();
      await shutdown.drain(DRAIN_MS);
    },
  };
}

/** Undefined where each connection begins with a request. */
function createSenders(options: ProxyOptions, signal: AbortSignal, log: Log): ProxySenders | undefined {
  if (options.proxyProtocol !== true) return undefined;
  const trusted = new TrustedPeers(options.trust ?? []);
  const isTrusted = (address: string | undefined) => trusted.has(toAddress(address));
  return new ProxySenders({ isTrusted, isSecure: options.tls !== undefined, log, signal });
}

async function listen(server: Server, { host, port, mayMove = false }: ProxyOptions['listen']): Promise<AddressInfo> {
  try {
    return await listenOnTcp(server, host, port);
  } catch (error) {
    if (!mayMove || errorCode(error) !== 'address_in_use') throw error;
    return await listenOnTcp(server, host, 0);
  }
}

/** A page of a sprite must not be on the site of the pages that people sign in on. */
function checkSite(domain: string, publicUrl: string | undefined): void {
  const host = publicUrl === undefined ? undefined : new URL(publicUrl).hostname;
  if (host === undefined || !sharesSite(domain, host)) return;
  const message = `the domain ${domain} of the proxy is on one site with ${host}, where people sign in; give the proxy a domain of its own`;
  throw new RemoraError('not_configured', message);
}
