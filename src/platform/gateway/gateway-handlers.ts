// The gateway of the platform: who calls, through which connector, whether the policy lets it, and then the call itself with
// the credential put in last (document 1, "What the service does", 4; design.md, section 5).
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Dispatcher } from 'undici';
import type { gatewayOperations } from '../../contract/gateway.ts';
import { decide, type SpriteIdentity } from '../../core/access-policy.ts';
import { createCallLimits } from '../../core/call-limits.ts';
import { parseGatewayTarget } from '../../core/gateway-target.ts';
import { toUpstreamHeaders } from '../../core/header-hygiene.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { createUsageReader, type UsageReader } from '../../core/token-usage.ts';
import { withoutQuery } from '../../core/without-query.ts';
import type { Handlers } from '../../http/handler.ts';
import { BODY_CAP_BYTES, streamExchange } from '../../http/streaming-proxy.ts';
import { toTunnel } from '../../http/to-tunnel.ts';
import { TUNNEL_IDLE_MS } from '../../http/tunnel.ts';
import type { Upgrade } from '../../http/upgrade.ts';
import type { Catalogue } from '../catalogue/catalogue.ts';
import type { CatalogueEntry } from '../catalogue/catalogue-entry.ts';
import type { ConnectorService } from '../connectors/connector-service.ts';
import type { ConnectorStore } from '../connectors/connector-store.ts';
import type { Credentials } from '../connectors/credentials.ts';
import { checkLife, type Lives } from '../lives/lives.ts';
import { parseLifeHeaders } from '../lives/parse-life-headers.ts';
import type { SpriteStore } from '../sprites/sprite-store.ts';
import type { Caller } from '../tokens/caller-store.ts';
import { organizationOf, type Principal } from '../tokens/principal.ts';
import type { Recheck } from '../tokens/recheck.ts';
import type { CallLedger, CallRecord } from './call-ledger.ts';
import { createChangeFeed } from './change-feed.ts';
import { findConnector } from './find-connector.ts';
import { defaultGatewayLimits, type GatewayLimits } from './gateway-limits.ts';
import { toGatewayList } from './gateway-list.ts';
import { toGatewayVersion } from './gateway-version.ts';
import { createOpenCalls } from './open-calls.ts';
import { createPolicyCache } from './policy-cache.ts';
import { toProviderCall } from './provider-call.ts';

interface ForwardedRequest {
  readonly request: IncomingMessage;
  readonly principal: Caller;
  readonly upgrade: Upgrade | undefined;
}

export interface GatewayDeps {
  readonly connectors: ConnectorStore;
  readonly service: ConnectorService;
  readonly sprites: Pick<SpriteStore, 'find'>;
  /** Runs its argument after a sprite was changed or deleted. */
  readonly onSpriteChange: (listener: () => void) => void;
  readonly catalogue: Catalogue;
  readonly credentials: Credentials;
  /** Throws `unauthorized` when the token of a caller opens nothing any more. */
  readonly recheck: Recheck;
  readonly lives: Pick<Lives, 'onReplaced'>;
  /** The one for addresses that users give, or the one for those of the catalogue. */
  readonly dispatcherFor: (entry: CatalogueEntry) => Dispatcher;
  /** Of WebSockets without a byte either way; ten minutes when absent, 0 = no limit. */
  readonly websocketIdle_ms?: number | undefined;
  /** Of each connector and of each sprite. */
  readonly limits?: GatewayLimits | undefined;
  readonly platformUrl: () => string;
  readonly ledger: Pick<CallLedger, 'add'>;
}

/** So long calls go on while the database cannot be asked whether they still may. */
const STORAGE_GRACE_MS = 30_000;

export function createGatewayHandlers(deps: GatewayDeps): Handlers<typeof gatewayOperations, Principal> {
  const policyOf = createPolicyCache();
  const { connector, sprite, bodyCap_bytes = BODY_CAP_BYTES } = deps.limits ?? defaultGatewayLimits;
  const now_ms = () => performance.now();
  const calls = createOpenCalls({ grace_ms: STORAGE_GRACE_MS, now_ms });
  const ofConnector = createCallLimits({ limit: connector, noun: 'connector', now_ms });
  const ofSprite = createCallLimits({ limit: sprite, noun: 'sprite', now_ms });
  const feed = createChangeFeed(() => {
    const lists = new Map<string, ReturnType<ConnectorStore['list']>>();
    return async (sprite_id) => {
      const sprite = await deps.sprites.find(sprite_id);
      if (sprite === undefined) return undefined;
      const { organization_id } = sprite;
      const list = lists.get(organization_id) ?? deps.connectors.list(organization_id, undefined);
      lists.set(organization_id, list);
      return toGatewayVersion(sprite, await list);
    };
  });
  deps.service.onChange((id) => {
    void calls.recheck(id);
    feed.check();
  });
  deps.onSpriteChange(() => {
    void calls.recheck();
    feed.check();
  });
  deps.lives.onReplaced(() => void calls.recheck());

  /** Throws while nothing has been answered; `record` holds what is known by then. */
  async function forward(
    record: CallRecord,
    { request, principal, upgrade }: ForwardedRequest,
    response: ServerResponse,
  ): Promise<void> {
    // Refused calls count as well: each writes a line, and most ask the database.
    using _ofSprite = ofSprite.admit(principal.type === 'sprite' ? principal.sprite.id : principal.organization.id);
    const target = parseGatewayTarget(request.method ?? '', request.url ?? '', request.rawHeaders);
    if (target.type === 'reject') {
      throw new RemoraError(target.code, target.message, { details: target.details });
    }
    const { provider, connector_id } = target;
    Object.assign(record, { provider, connector_id, path: withoutQuery(target.path) });
    const life = parseLifeHeaders(request.headers);
    const judge = async (caller: Caller) => {
      if (caller.type === 'sprite' && life !== undefined) checkLife(caller.life, life);
      const found = await findConnector(deps, caller.organization.id, provider, connector_id);
      const decision = decide(policyOf(found.row.access_policy), toIdentity(caller), target.path);
      Object.assign(record, { isKnown: true, rule: decision.rule });
      if (decision.type === 'deny') throw new RemoraError(decision.code, decision.message);
      return found;
    };
    const recheck = async () => await judge(await deps.recheck(principal));
    // Before the first look, so that no change after it is missed.
    using open = calls.begin(connector_id, { recheck });
    const judged = await judge(principal);
    using _ofConnector = ofConnector.admit(judged.row.id);
    const { secret, injection, renewed } = await deps.credentials.open(judged.row, judged.entry);
    // A credential that had to be renewed took its time, and the policy may be another one by now.
    const { row, entry } = renewed ? await recheck() : judged;
    open.signal.throwIfAborted();
    const tunnel = toTunnel(request, upgrade, deps.websocketIdle_ms ?? TUNNEL_IDLE_MS);
    const address = entry.address.type === 'fixed' ? entry.address.url : row.base_api_url;
    if (address === null) throw new RemoraError('internal', 'the connector has no address');
    const { rawHeaders } = request;
    const { origin, path, injected } = toProviderCall({ ...entry, injection }, address, secret, {
      path: target.path,
      rawHeaders,
    });
    record.isSent = true;
    let usage: UsageReader | undefined;
    const outcome = await streamExchange(request, response, {
      dispatcher: () => deps.dispatcherFor(entry),
      origin,
      path,
      headers: toUpstreamHeaders(rawHeaders, injected),
      from: 'provider',
      signal: open.signal,
      bodyCap_bytes,
      ...(tunnel === undefined ? {} : { tunnel }),
      observe(headers) {
        usage = createUsageReader(headers);
        return usage?.push;
      },
    });
    record.outcome = { ...outcome, cause: outcome.reason ?? open.signal.reason };
    record.usage = usage?.read();
  }

  return {
    async watchGateway({ principal, query }, sink) {
      if (principal.type === 'sprite') await feed.follow(principal.sprite.id, query.since, sink);
    },
    async listGateway({ principal }) {
      const organization = organizationOf(principal);
      const identity = toIdentity(principal);
      const rows = await deps.connectors.list(organization.id, undefined);
      const usable = rows.filter((row) => identity === null || isGranted(policyOf(row.access_policy), identity));
      return toGatewayList(usable, deps.catalogue, deps.platformUrl());
    },
    async gateway({ request, principal, upgrade }, response) {
      const started_ms = performance.now();
      if (principal.type === 'anonymous') throw new RemoraError('unauthorized', 'the gateway serves nobody unknown');
      const record: CallRecord = { caller: principal, method: request.method ?? '' };
      let failure: unknown;
      try {
        await forward(record, { request, principal, upgrade }, response);
      } catch (error) {
        failure = error;
        throw error;
      } finally {
        deps.ledger.add(record, failure, Math.round(performance.now() - started_ms));
      }
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
