// Forwards one call through the gateway (Sandbox API, What the service does): finds the connector, asks the policy, and adds the
// credential last, so that no refused call comes near it.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Dispatcher } from 'undici';
import { type CompiledPolicy, decide, type SpriteIdentity } from '../../core/gateway/access-policy.ts';
import { createAnswerGuard } from '../../core/gateway/answer-guard.ts';
import { createCallLimits } from '../../core/gateway/call-limits.ts';
import { GatewayHeaders } from '../../core/gateway/gateway-headers.ts';
import { GATEWAY_PREFIX, parseGatewayTarget } from '../../core/gateway/gateway-target.ts';
import { createUsageReader, type UsageReader } from '../../core/gateway/token-usage.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { withoutQuery } from '../../core/without-query.ts';
import { BODY_IDLE_MS } from '../../http/caller-body.ts';
import { BODY_CAP_BYTES } from '../../http/exchange-upstream.ts';
import { streamExchange } from '../../http/streaming-proxy.ts';
import { toTunnel } from '../../http/to-tunnel.ts';
import { TUNNEL_IDLE_MS } from '../../http/tunnel.ts';
import type { Upgrade } from '../../http/upgrade.ts';
import type { Catalogue } from '../catalogue/catalogue.ts';
import type { CatalogueEntry } from '../catalogue/catalogue-entry.ts';
import type { Credentials } from '../connectors/credentials.ts';
import type { KeptConnectors } from '../connectors/kept-connectors.ts';
import { parseIncarnationHeaders } from '../fencing/parse-incarnation-headers.ts';
import type { Caller } from '../tokens/caller-store.ts';
import { type Principal, spriteOf } from '../tokens/principal.ts';
import type { RecheckToken } from '../tokens/recheck-token.ts';
import { toProviderCall } from '../upstream/provider-call.ts';
import { findConnector, type NamedConnector } from './find-connector.ts';
import { defaultGatewayLimits, type GatewayLimits } from './gateway-limits.ts';
import type { OpenCalls } from './open-calls.ts';
import { recheckCaller } from './recheck-caller.ts';
import { createUrlRewriter } from './rewrite-url.ts';
import type { CallRecord } from './usage/usage-recorder.ts';

export interface ForwardedRequest {
  readonly request: IncomingMessage;
  readonly principal: Caller;
  readonly upgrade: Upgrade | undefined;
}

export interface ForwardCallDeps {
  readonly keptConnectors: KeptConnectors;
  readonly catalogue: Catalogue;
  readonly credentials: Credentials;
  /** Throws `unauthorized` when the caller's token is no longer valid. */
  readonly recheck: RecheckToken;
  /** The dispatcher of calls to a provider: the guarded one where users give the address. */
  readonly dispatcherFor: (entry: CatalogueEntry) => Pick<Dispatcher, 'dispatch'>;
  /** How long a WebSocket may stay open without a byte in either direction; ten minutes when absent, 0 = no limit. */
  readonly websocketIdle_ms?: number | undefined;
  /** The limits of each connector and of each sprite. */
  readonly limits?: GatewayLimits | undefined;
  /** Runs each time that a call goes on after a wait, for the figures of the event loop. */
  readonly onTurn?: (() => void) | undefined;
  /** The policy of a connector as it is stored. */
  readonly policyOf: (stored: string | null) => CompiledPolicy;
  readonly calls: Pick<OpenCalls, 'begin'>;
  /** Monotonic milliseconds. */
  readonly now_ms: () => number;
}

/** Throws only before the answer has begun. What is known of the call by then is in `record`. */
export type ForwardCall = (record: CallRecord, forwarded: ForwardedRequest, response: ServerResponse) => Promise<void>;

/** Returns the function that forwards a call. */
export function createForwardCall(deps: ForwardCallDeps): ForwardCall {
  const { policyOf, calls, now_ms } = deps;
  const finding = { connectors: deps.keptConnectors, catalogue: deps.catalogue };
  const {
    connector,
    sprite,
    bodyCap_bytes = BODY_CAP_BYTES,
    bodyIdle_ms = BODY_IDLE_MS,
  } = deps.limits ?? defaultGatewayLimits;
  const ofConnector = createCallLimits({ limit: () => connector, noun: 'connector', now_ms });
  const ofSprite = createCallLimits({ limit: () => sprite, noun: 'sprite', now_ms });

  return async (record, { request, principal, upgrade }, response) => {
    // Refused calls count too: each writes a line of the log, and most read the database.
    using _ofSprite = ofSprite.admit(spriteOf(principal)?.id ?? principal.organization.id);
    const target = parseGatewayTarget(request.method ?? '', request.url ?? '', request.rawHeaders);
    if (target.type === 'reject') {
      throw new RemoraError(target.code, target.message, { details: target.details });
    }
    const { provider, connector_id } = target;
    record.provider = provider;
    record.connector_id = connector_id;
    record.path = withoutQuery(target.path);
    const incarnation = parseIncarnationHeaders(request.headers);
    const decideFor = (caller: Caller, found: NamedConnector) => {
      const decision = decide(policyOf(found.row.access_policy), toSpriteIdentity(caller), target.path);
      record.isKnown = true;
      record.rule = decision.rule;
      if (decision.type === 'deny') throw new RemoraError(decision.code, decision.message);
      return found;
    };
    const judge = (caller: Caller) => {
      recheckCaller(caller, incarnation);
      const found = findConnector(finding, caller.organization.id, provider, connector_id);
      return found instanceof Promise ? found.then((named) => decideFor(caller, named)) : decideFor(caller, found);
    };
    const recheck = async () => {
      // What another process has changed is to be seen, too.
      await deps.keptConnectors.look();
      return await judge(await deps.recheck(principal));
    };
    // Registered before the policy is read, so that no later change is missed.
    using open = calls.begin({ connector_id, sprite_id: spriteOf(principal)?.id, recheck });
    const judging = judge(principal);
    const judged = judging instanceof Promise ? await judging : judging;
    using _ofConnector = ofConnector.admit(judged.row.id);
    const opening = deps.credentials.open(judged.row, judged.entry);
    const { secret, injection, renewed } = opening instanceof Promise ? await opening : opening;
    // The policy may have changed while the credential was renewed.
    const { row, entry } = renewed ? await recheck() : judged;
    // The address is taken from the row that was read again: `read` throws unless the credential was closed for exactly that row.
    if (renewed) deps.credentials.read(row);
    if (open.signal.aborted) throw open.signal.reason;
    const tunnel = toTunnel(request, upgrade, deps.websocketIdle_ms ?? TUNNEL_IDLE_MS);
    const address = entry.address.type === 'fixed' ? entry.address.url : row.base_api_url;
    if (address === null) throw new RemoraError('internal', 'the connector has no address');
    const { rawHeaders } = request;
    const { default_headers, strip_query } = entry;
    const rules = { default_headers, strip_query, injection };
    const call = toProviderCall(rules, address, secret, { path: target.path, rawHeaders });
    const gatewayPath = `${GATEWAY_PREFIX}${provider}/${connector_id}`;
    record.isSent = true;
    const guard = createAnswerGuard(secret, createUrlRewriter(call, injection, gatewayPath));
    let usage: UsageReader | undefined;
    const outcome = await streamExchange(request, response, {
      dispatcher: () => deps.dispatcherFor(entry),
      origin: call.origin,
      path: call.path,
      headers: new GatewayHeaders({ from: 'provider', injected: call.injected, guard }),
      from: 'provider',
      asksNotToHold: true,
      signal: open.signal,
      bodyCap_bytes,
      bodyIdle_ms,
      onTurn: deps.onTurn,
      ...(tunnel === undefined ? {} : { tunnel }),
      observe(headers) {
        usage = createUsageReader(headers);
        return usage?.push;
      },
    });
    record.outcome = { ...outcome, cause: outcome.reason ?? open.signal.reason };
    record.usage = usage?.read();
  };
}

/** What an access policy knows of a caller. Null for the token of an organization: policies name sprites only. */
function toSpriteIdentity(principal: Principal): SpriteIdentity | null {
  const sprite = spriteOf(principal);
  return sprite === undefined ? null : { name: sprite.name, labels: sprite.labels };
}
