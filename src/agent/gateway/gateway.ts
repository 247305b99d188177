// The gateway of the agent put together: policies from the platform, the verdict, the calls, the log, and the tokens for the
// loopback listener (design.md, section 5).
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { gatewayOperations } from '../../contract/local/gateway.ts';
import { createCallLimits } from '../../core/call-limits.ts';
import type { Clock } from '../../core/clock.ts';
import type { GatewayTarget } from '../../core/gateway-target.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Secret } from '../../core/secret.ts';
import { createTokenBucket } from '../../core/token-bucket.ts';
import type { Handlers } from '../../http/handler.ts';
import type { Sqlite } from '../../sqlite/open.ts';
import type { EventHub } from '../events/event-hub.ts';
import type { Log } from '../log.ts';
import type { Part } from '../parts.ts';
import type { Upstream } from '../upstream.ts';
import { createAuditLog, LOG_MAX_ROWS } from './audit-log.ts';
import type { AuditLink } from './audit-request.ts';
import { createAuditThread } from './audit-thread.ts';
import { type CallCounts, createCallMeter } from './call-meter.ts';
import { type Capability, createCapabilityTokens } from './capability-tokens.ts';
import { createDiscovery } from './discovery.ts';
import { createDoorRefusals, type OnDoorRefusal } from './door-refusals.ts';
import { createForwarder, toRefusal } from './forwarder.ts';
import { createGatewayHandlers } from './gateway-handlers.ts';
import { judge, type Target, type Verdict } from './judge.ts';
import { type CallTally, createOpenCalls } from './open-calls.ts';
import { createPolicies, type Policies } from './policies.ts';
import { createPolicyCache } from './policy-cache.ts';
import type { ChangesState } from './policy-changes.ts';
import { createPolicySource } from './policy-source.ts';

export { gatewayLogSchema, gatewaySchema, gatewayUsageSchema } from './gateway-schema.ts';

export interface GatewayConfig {
  readonly baseUrl: string | undefined;
  readonly token: Secret | undefined;
  readonly sprite: string | undefined;
  /** Path of the local socket, for the lines that are shown to be pasted. */
  readonly socket: string;
  /** Where the log of the calls lies. */
  readonly stateDir: string;
  readonly policyMaxAge_ms: number;
  readonly policyRefresh_ms: number;
  readonly bodyCap_bytes: number;
  readonly targetCap_bytes: number;
  /** Of each connector. */
  readonly callsPerSecond: number;
  readonly callsInFlight: number;
  readonly logMaxAge_ms: number;
  readonly headersTimeout_ms: number;
  /** 0 = no limit, for both. */
  readonly idleTimeout_ms: number;
  readonly websocketIdle_ms: number;
}

export interface GatewayDeps {
  readonly clock: Clock;
  readonly random: () => number;
  readonly hub: EventHub;
  readonly part: Part;
  readonly db: Sqlite;
  readonly upstream: Upstream;
  readonly log: Log;
  readonly config: GatewayConfig;
  /** Headers that tell the platform which life of which machine is calling. */
  readonly identity: () => Readonly<Record<string, string>>;
  /** `host:port` of the loopback listener, once it listens. */
  readonly loopback?: () => string | undefined;
  /** Waits, bounded, while the machine is being suspended or resumed; throws the RemoraError to answer with. */
  readonly gate?: () => Promise<void>;
  /** As `gate`, for what the agent asks of its own accord, which has its time after a resume. */
  readonly refreshGate?: () => Promise<void>;
  /** Another disk for the log of the calls, for tests. */
  readonly auditLink?: AuditLink;
}

export interface GatewayCaller {
  /** Ends the calls of this caller with its reason. */
  readonly until?: AbortSignal;
}

export interface Gateway extends AsyncDisposable {
  readonly handlers: Handlers<typeof gatewayOperations, GatewayCaller | undefined>;
  /** Reads the cache and begins to fetch policies until `signal`. */
  start(signal: AbortSignal): void;
  /** Fetches the policies anew; resolves when that has worked or failed. */
  onResume(): Promise<void>;
  /** Before the machine is suspended: what is resident then has to be saved and loaded. */
  settle(): Promise<void>;
  /** Calls that are being forwarded. */
  openStreams(): number;
  /** Calls in flight by connector, and how many have come so far. */
  calls(): CallTally;
  /** What was called since the start, for metrics. */
  callCounts(): CallCounts;
  /** The address of this sprite as the platform shows it. */
  spriteUrl(): string | undefined;
  /** What a token of the loopback listener opens; undefined for one that is unknown or expired. */
  verifyToken(token: string): Capability | undefined;
  /** To be told of a call that did not get in. */
  readonly onDoorRefusal: OnDoorRefusal;
}

export function createGateway(deps: GatewayDeps): Gateway {
  const { clock, config, hub, log, part } = deps;
  const gate = deps.gate ?? (async () => undefined);
  const openCalls = createOpenCalls(onCut);
  const path = join(config.stateDir, 'gateway-log.db');
  const audit = createAuditLog({
    link: deps.auditLink ?? createAuditThread({ path, maxRows: LOG_MAX_ROWS, maxAge_ms: config.logMaxAge_ms }),
    clock,
    onProblem: () => report(),
  });
  const meter = createCallMeter();
  const limits = createCallLimits({
    limit: { perSecond: config.callsPerSecond, inFlight: config.callsInFlight },
    noun: 'connector',
    now_ms: clock.mono_ms,
  });
  const tokens = createCapabilityTokens(deps.db, clock, (err) => log.warn({ err }, 'a gateway token was not kept'));
  const platform = toPlatform(config);
  let problem: string | undefined;
  let changes: ChangesState = { type: 'following' };

  const known: Policies | undefined =
    'missing' in platform
      ? undefined
      : createPolicies({
          clock,
          random: deps.random,
          cache: createPolicyCache(deps.db, toSourceKey(platform)),
          source: createPolicySource({
            ...platform,
            dispatcher: () => deps.upstream.dispatcher,
            headers: () => ({ authorization: `Bearer ${platform.token.reveal()}`, ...deps.identity() }),
          }),
          maxAge_ms: config.policyMaxAge_ms,
          refresh_ms: config.policyRefresh_ms,
          gate: deps.refreshGate ?? gate,
          onUpdate,
          onChanges,
        });

  function policies(): Policies {
    if (known !== undefined) return known;
    throw off();
  }

  function connected() {
    if ('missing' in platform) throw off();
    return platform;
  }

  function off(): RemoraError {
    const names = 'missing' in platform ? platform.missing.join(' and ') : '';
    return new RemoraError('not_configured', `the gateway is off, because there is no ${names}`);
  }

  function onUpdate(update: { readonly changed: boolean; readonly problem: string | undefined }): void {
    if (update.problem !== undefined && update.problem !== problem) {
      log.warn({ problem: update.problem }, 'the policies could not be refreshed');
    }
    problem = update.problem;
    report();
    if (!update.changed) return;
    hub.publish('policies_changed', { connectors: known?.snapshot?.connectors.size ?? 0 });
    endForbidden();
  }

  /** Without the stream a change is noticed late, which somebody who has just closed a path must be able to see. */
  function onChanges(state: ChangesState): void {
    if (state.type === 'lost' && changes.type !== 'lost') {
      log.warn({ problem: state.problem }, "the platform's stream of policy changes is lost");
    }
    if (state.type !== 'lost' && changes.type === 'lost') log.info("the platform's stream of policy changes is back");
    changes = state;
    report();
  }

  /** A stream that was allowed when it began and is not any more ends now. */
  function endForbidden(): void {
    const snapshot = known?.snapshot;
    if (snapshot === undefined) return;
    openCalls.cut((target) => {
      const verdict = judge(snapshot, target);
      return verdict.type === 'allow' ? undefined : toRefusal(verdict);
    });
  }

  function onCut(target: Target, reason: RemoraError): void {
    const fields = { provider: target.provider, connector_id: target.connector_id, code: reason.code };
    log.warn({ ...fields, reason: reason.message }, 'a call was ended, because it is not allowed any more');
    hub.publish('gateway_call_ended', fields);
  }

  function report(): void {
    if (known === undefined) return;
    const refresh_ms = Math.min(config.policyRefresh_ms, config.policyMaxAge_ms / 2);
    const every = `changes are noticed every ${Math.ceil(refresh_ms / 1_000)} s only`;
    const lost = changes.type === 'lost' ? `no stream of policy changes (${changes.problem}); ${every}` : undefined;
    const trouble = problem ?? lost ?? audit.problem;
    const note = changes.type === 'missing' ? `the platform does not tell of policy changes; ${every}` : undefined;
    if (known.isUsable) part.set(trouble === undefined ? 'ok' : 'degraded', trouble ?? note);
    else if (problem === undefined) part.set('starting', 'the policies are being fetched');
    else part.set('failed', `${problem}; every call is refused until it answers`);
  }

  async function verdictOn(target: GatewayTarget): Promise<Verdict> {
    if (target.type === 'reject') return target;
    const verdict = judge(await policies().usable(), target);
    // What was created or allowed a moment ago is not in the cache yet.
    if (verdict.type === 'allow' || !(await policies().freshen())) return verdict;
    return judge(await policies().usable(), target);
  }

  const refusals = createTokenBucket({ capacity: 2, refillPerSecond: 0.5, now_ms: clock.mono_ms });
  /** A provider's own refusals look the same from here: they must not become a flood of questions. */
  function onRefused(): void {
    if (refusals.take()) known?.changed();
  }

  const forward =
    'missing' in platform
      ? undefined
      : createForwarder({ ...deps, ...config, gate, audit, meter, openCalls, limits, platform, verdictOn, onRefused });

  const shown = async () => policies().snapshot ?? (await policies().usable());
  const local = () => ({ socket: config.socket, tcp: deps.loopback?.() });
  const discovery = createDiscovery({
    platform: connected,
    dispatcher: () => deps.upstream.dispatcher,
    identity: deps.identity,
    shown,
    local,
  });

  return {
    handlers: {
      ...discovery.handlers,
      ...createGatewayHandlers({
        policies,
        shown,
        verdictOn,
        audit,
        tokens,
        local,
        askPlatform: discovery.askPlatform,
      }),
      gateway: async ({ request, upgrade, principal }, response) => {
        if (forward === undefined) policies();
        await forward?.(request, response, upgrade, principal?.until);
      },
    },
    start(signal) {
      tokens.load();
      if ('missing' in platform) {
        part.set('off', `there is no ${platform.missing.join(' and ')}`);
        return;
      }
      report();
      known?.start(signal);
    },
    async onResume() {
      tokens.expire();
      openCalls.endTunnels(new RemoraError('resuming', 'the machine was resumed; connect again'));
      await known?.refreshNow();
    },
    settle: audit.settle,
    openStreams: () => openCalls.size,
    calls: openCalls.tally,
    callCounts: meter.counts,
    spriteUrl: () => known?.snapshot?.document.sprite.url,
    verifyToken: (token) => tokens.verify(token),
    onDoorRefusal: createDoorRefusals({ audit, meter, now_ms: clock.mono_ms }),
    async [Symbol.asyncDispose]() {
      tokens[Symbol.dispose]();
      await audit[Symbol.asyncDispose]();
    },
  };
}

type Platform =
  | { readonly baseUrl: string; readonly token: Secret; readonly sprite: string }
  | { readonly missing: readonly string[] };

function toPlatform({ baseUrl, token, sprite }: GatewayConfig): Platform {
  if (baseUrl !== undefined && token !== undefined && sprite !== undefined) return { baseUrl, token, sprite };
  const settings = { REMORA_BASE_URL: baseUrl, 'REMORA_TOKEN or REMORA_TOKEN_FILE': token, REMORA_SPRITE: sprite };
  return { missing: Object.entries(settings).flatMap(([name, value]) => (value === undefined ? [name] : [])) };
}

/** Names platform, sprite and credential without telling the credential. */
function toSourceKey({ baseUrl, sprite, token }: Extract<Platform, { baseUrl: string }>): string {
  return createHash('sha256').update(`${baseUrl}\n${sprite}\n${token.reveal()}`).digest('hex');
}
