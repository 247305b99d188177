// The gateway of the platform: who calls, through which connector, whether the policy lets it, and then the call itself with
// the credential put in last (document 1, "What the service does", 4; design.md, section 5).
import type { Dispatcher } from 'undici';
import type { gatewayOperations } from '../../contract/gateway.ts';
import { decide, type SpriteIdentity } from '../../core/access-policy.ts';
import { createCallLimits } from '../../core/call-limits.ts';
import { parseGatewayTarget } from '../../core/gateway-target.ts';
import { toUpstreamHeaders } from '../../core/header-hygiene.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Handlers } from '../../http/handler.ts';
import { streamExchange } from '../../http/streaming-proxy.ts';
import { toTunnel } from '../../http/to-tunnel.ts';
import { TUNNEL_IDLE_MS } from '../../http/tunnel.ts';
import type { Catalogue } from '../catalogue/catalogue.ts';
import type { CatalogueEntry } from '../catalogue/catalogue-entry.ts';
import type { ConnectorService } from '../connectors/connector-service.ts';
import type { ConnectorRow, ConnectorStore } from '../connectors/connector-store.ts';
import type { Credentials } from '../connectors/credentials.ts';
import type { Lives } from '../lives/lives.ts';
import { parseLifeHeaders } from '../lives/parse-life-headers.ts';
import type { SpriteRow, SpriteStore } from '../sprites/sprite-store.ts';
import { organizationOf, type Principal } from '../tokens/principal.ts';
import { createChangeFeed } from './change-feed.ts';
import { defaultGatewayLimits, type GatewayLimits } from './gateway-limits.ts';
import { toGatewayList } from './gateway-list.ts';
import { toGatewayVersion } from './gateway-version.ts';
import { createOpenCalls } from './open-calls.ts';
import { createPolicyCache } from './policy-cache.ts';
import { toProviderCall } from './provider-call.ts';

export interface GatewayDeps {
  readonly connectors: ConnectorStore;
  readonly service: ConnectorService;
  readonly sprites: Pick<SpriteStore, 'find'>;
  /** Runs its argument after a sprite was changed or deleted. */
  readonly onSpriteChange: (listener: () => void) => void;
  readonly catalogue: Catalogue;
  readonly credentials: Credentials;
  /** Throws `unauthorized` when the token of a caller opens nothing any more. */
  readonly recheck: (principal: Principal) => void;
  readonly lives: Lives;
  /** The one for addresses that users give, or the one for those of the catalogue. */
  readonly dispatcherFor: (entry: CatalogueEntry) => Dispatcher;
  /** Of WebSockets without a byte either way; ten minutes when absent, 0 = no limit. */
  readonly websocketIdle_ms?: number | undefined;
  /** Of each connector and of each sprite. */
  readonly limits?: GatewayLimits | undefined;
  readonly platformUrl: () => string;
  readonly log: { info(fields: object, message: string): void };
}

export function createGatewayHandlers(deps: GatewayDeps): Handlers<typeof gatewayOperations, Principal> {
  const policyOf = createPolicyCache();
  const calls = createOpenCalls();
  const { connector, sprite } = deps.limits ?? defaultGatewayLimits;
  const now_ms = () => performance.now();
  const ofConnector = createCallLimits({ limit: connector, noun: 'connector', now_ms });
  const ofSprite = createCallLimits({ limit: sprite, noun: 'sprite', now_ms });
  const feed = createChangeFeed((sprite_id) => {
    const sprite = deps.sprites.find(sprite_id);
    return sprite && toGatewayVersion(sprite, deps.connectors.list(sprite.organization_id, undefined));
  });
  deps.service.onChange((id) => {
    calls.recheck(id);
    feed.check();
  });
  deps.onSpriteChange(() => {
    calls.recheck();
    feed.check();
  });
  deps.lives.onReplaced(() => calls.recheck());

  /** One body for a connector that is not there, of another organization, or of another provider. */
  function findConnector(organization_id: string, provider: string, id: string): [ConnectorRow, CatalogueEntry] {
    const row = deps.connectors.find(organization_id, id);
    const entry = row === undefined ? undefined : deps.catalogue.find(row.provider);
    if (row === undefined || entry === undefined || row.provider !== provider) {
      throw new RemoraError('unknown_connector', 'there is no such connector; GET /v1/gateway/list names yours');
    }
    return [row, entry];
  }

  /** As it is now, because labels may change while a call is open. */
  function currentSprite(principal: Principal): SpriteRow | undefined {
    if (principal.type !== 'sprite') return undefined;
    const sprite = deps.sprites.find(principal.sprite.id);
    if (sprite === undefined) throw new RemoraError('forbidden', 'the sprite that is calling was deleted');
    return sprite;
  }

  return {
    watchGateway({ principal, query }, sink) {
      if (principal.type === 'sprite') feed.follow(principal.sprite.id, query.since, sink);
    },
    listGateway({ principal }) {
      const organization = organizationOf(principal);
      const identity = toIdentity(principal);
      const usable = deps.connectors
        .list(organization.id, undefined)
        .filter((row) => identity === null || isGranted(policyOf(row.access_policy), identity));
      return toGatewayList(usable, deps.catalogue, deps.platformUrl());
    },
    async gateway({ request, principal, upgrade }, response) {
      const started_ms = performance.now();
      const organization = organizationOf(principal);
      const target = parseGatewayTarget(request.method ?? '', request.url ?? '', request.rawHeaders);
      if (target.type === 'reject') {
        throw new RemoraError(target.code, target.message, { details: target.details });
      }
      const identity = toIdentity(principal);
      const life = parseLifeHeaders(request.headers);
      const admit = () => {
        deps.recheck(principal);
        if (principal.type === 'sprite' && life !== undefined) deps.lives.check(principal.sprite.id, life);
        const [row, entry] = findConnector(organization.id, target.provider, target.connector_id);
        const identity = currentSprite(principal) ?? null;
        const decision = decide(policyOf(row.access_policy), identity, target.path);
        if (decision.type === 'deny') throw new RemoraError(decision.code, decision.message);
        return { row, entry };
      };
      const judged = admit();
      using _ofSprite = ofSprite.admit(principal.type === 'sprite' ? principal.sprite.id : organization.id);
      using _ofConnector = ofConnector.admit(judged.row.id);
      const { secret, injection } = await deps.credentials.open(judged.row, judged.entry);
      // A credential that had to be renewed took its time, and the policy may be another one by now.
      const { row, entry } = admit();
      const tunnel = toTunnel(request, upgrade, deps.websocketIdle_ms ?? TUNNEL_IDLE_MS);
      const address = entry.address.type === 'fixed' ? entry.address.url : row.base_api_url;
      if (address === null) throw new RemoraError('internal', 'the connector has no address');
      const { rawHeaders } = request;
      const { origin, path, injected } = toProviderCall({ ...entry, injection }, address, secret, {
        path: target.path,
        rawHeaders,
      });
      using open = calls.begin(row.id, { recheck: admit });
      const {
        ended,
        reason: ownReason,
        ...counts
      } = await streamExchange(request, response, {
        dispatcher: deps.dispatcherFor(entry),
        origin,
        path,
        headers: toUpstreamHeaders(rawHeaders, injected),
        from: 'provider',
        signal: open.signal,
        ...(tunnel === undefined ? {} : { tunnel }),
      });
      const cause: unknown = ownReason ?? open.signal.reason;
      const reason = cause instanceof RemoraError ? cause.code : undefined;
      const ms = Math.round(performance.now() - started_ms);
      const where = {
        connector: row.id,
        sprite: identity?.name,
        method: target.method,
        path: withoutQuery(target.path),
      };
      deps.log.info({ ...where, ...counts, ended, ms, reason }, 'gateway call');
    },
  };
}

/** The token of an organization is nobody in particular: no policy can grant it a call. */
function toIdentity(principal: Principal): SpriteIdentity | null {
  return principal.type === 'sprite' ? { name: principal.sprite.name, labels: principal.sprite.labels } : null;
}

/** Whether the sprite may use the connector at all, whatever the path. */
function isGranted(policy: Parameters<typeof decide>[0], identity: SpriteIdentity): boolean {
  const decision = decide(policy, identity, '/');
  return decision.type === 'allow' || decision.code !== 'connection_denied';
}

function withoutQuery(path: string): string {
  return path.split('?')[0] ?? '';
}
