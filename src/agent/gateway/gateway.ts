// Puts the gateway of the agent together: policies from the platform, the verdict, the calls, the log, and the tokens for the
// loopback listener.
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { gatewayOperations } from '../../contract/local/gateway.ts';
import type { Clock } from '../../core/clock.ts';
import { createCallLimits } from '../../core/gateway/call-limits.ts';
import type { GatewayTarget } from '../../core/gateway/gateway-target.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Secret } from '../../core/secret.ts';
import { createTokenBucket } from '../../core/token-bucket.ts';
import type { Handlers } from '../../http/handler.ts';
import type { Sqlite } from '../../sqlite/open.ts';
import { type Capability, createCapabilityTokens } from '../access/capability-tokens.ts';
import type { EventHub } from '../events/event-hub.ts';
import type { Log } from '../log.ts';
import type { Part } from '../parts.ts';
import type { Upstream } from '../upstream.ts';
import { createAccessRefusals, type OnAccessRefusal } from './access-refusals.ts';
import { createAuditLog, LOG_MAX_ROWS } from './audit/audit-log.ts';
import type { AuditLink } from './audit/audit-request.ts';
import { createAuditThread } from './audit/audit-thread.ts';
import { type CallCounts, createCallMetrics } from './call-metrics.ts';
import { createDiscovery } from './discovery.ts';
import { createForwarder, toRefusal } from './forwarder.ts';
import { createGatewayHandlers } from './gateway-handlers.ts';
import { type CallTally, createOpenCalls } from './open-calls.ts';
import { judge, type Target, type Verdict } from './policies/judge-call.ts';
import { createPolicies, type Policies } from './policies/policies.ts';
import { createPolicyCache } from './policies/policy-cache.ts';
import type { ChangesState } from './policies/policy-changes.ts';
import { createPolicySource } from './policies/policy-source.ts';

/** How often `abandon` looks whether the calls that it cut have left their records. */
const ABANDON_WAITS = 50;
const ABANDON_WAIT_MS = 10;

export { gatewayLogSchema, gatewaySchema, gatewayUsageSchema } from './gateway-schema.ts';

export interface GatewayConfig {
  readonly baseUrl: string | undefined;
  readonly token: Secret | undefined;
  readonly sprite: string | undefined;
  /** Path of the local socket, for the command lines that are shown. */
  readonly socket: string;
  /** Directory of gateway-log.db. */
  readonly stateDir: string;
  readonly policyMaxAge_ms: number;
  readonly policyRefresh_ms: number;
  readonly bodyCap_bytes: number;
  /** How long a caller may pause within a request body; a minute when absent. */
  readonly bodyIdle_ms?: number;
  readonly targetCap_bytes: number;
  /** Calls that each connector admits in a second. */
  readonly callsPerSecond: number;
  readonly callsInFlight: number;
  readonly logMaxAge_ms: number;
  readonly headersTimeout_ms: number;
  /** 0 = no limit, for `idleTimeout_ms` and `websocketIdle_ms`. */
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
  /** Headers that tell the platform which incarnation of which machine is calling. */
  readonly identity: () => Readonly<Record<string, string>>;
  /** Waits, bounded, while the machine is being suspended or resumed; throws the RemoraError to answer with. */
  readonly gate?: () => Promise<void>;
  /** The gate for requests that the agent makes of its own accord: after a resume they wait for this machine's time in the spread. */
  readonly refreshGate?: () => Promise<void>;
  /** Resolves when random values drawn here differ from those that a copy of this machine draws; absent = they always do. */
  readonly mayDraw?: () => Promise<void>;
  /** Called in each turn of the event loop that works for a call, so that a long turn is attributed to it. */
  readonly onTurn?: () => void;
  /** Replaces the thread that writes the log of calls, for tests. */
  readonly auditLink?: AuditLink;
}

export interface GatewayCaller {
  /** Ends the calls of this caller with its reason. */
  readonly until?: AbortSignal;
}

export interface Gateway extends AsyncDisposable {
  readonly handlers: Handlers<typeof gatewayOperations, GatewayCaller | undefined>;
  /** Reads the cache and begins to fetch policies until `signal`. `loopback` is `host:port` of the loopback listener, if there is one. */
  start(signal: AbortSignal, loopback?: string): void;
  /** Fetches the policies again; resolves when the fetch has ended, whatever came of it. */
  onResume(): Promise<void>;
  /** Called before the machine is suspended: writes the log and ends its thread, because a snapshot holds all memory in use. */
  settle(): Promise<void>;
  /** Ends every call with `reason`, and writes their records if the disk answers soon. */
  abandon(reason: RemoraError): Promise<void>;
  /** How many calls are being forwarded. */
  openStreams(): number;
  /** Calls in flight by connector, and how many have come so far. */
  calls(): CallTally;
  /** Counters since the start, for metrics. */
  callCounts(): CallCounts;
  /** The address of this sprite as the platform shows it. */
  spriteUrl(): string | undefined;
  /** What a token of the loopback listener opens; undefined for one that is unknown or expired. */
  verifyToken(token: string): Capability | undefined;
  /** Called for each call that the authenticator refused. */
  readonly onAccessRefusal: OnAccessRefusal;
}

export function createGateway(deps: GatewayDeps): Gateway {
  const { clock, config, hub, log, part } = deps;
  const gate = deps.gate ?? (async () => undefined);
  const openCalls = createOpenCalls(onCut);
  const path = join(config.stateDir, 'gateway-log.db');
  const audit = createAuditLog({
    link: deps.auditLink ?? createAuditThread({ path, maxRows: LOG_MAX_ROWS, maxAge_ms: config.logMaxAge_ms }),
    clock,
    onProblem: () => updatePart(),
  });
  const metrics = createCallMetrics();
  const limits = createCallLimits({
    limit: { perSecond: config.callsPerSecond, inFlight: config.callsInFlight },
    noun: 'connector',
    now_ms: clock.mono_ms,
  });
  const tokens = createCapabilityTokens(deps.db, clock, (err) => log.warn({ err }, 'a gateway token was not kept'));
  const platform = toPlatform(config);
  let tcpAddress: string | undefined;
  let problem: string | undefined;
  let changes: ChangesState = { type: 'following' };
  /** Calls that have no record yet. */
  let unrecorded = 0;

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
    updatePart();
    if (!update.changed) return;
    hub.publish('policies_changed', { connectors: known?.snapshot?.connectors.size ?? 0 });
    endForbidden();
  }

  /** The state of the part shows that the stream is lost: a change of policy, such as a removed path, is noticed late then. */
  function onChanges(state: ChangesState): void {
    if (state.type === 'lost' && changes.type !== 'lost') {
      log.warn({ problem: state.problem }, "the platform's stream of policy changes is lost");
    }
    if (state.type !== 'lost' && changes.type === 'lost') log.info("the platform's stream of policy changes is back");
    changes = state;
    updatePart();
  }

  /** Ends the calls that the new policies no longer allow. */
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

  function updatePart(): void {
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
    // A connector or a rule that was made a moment ago is not in the cache yet.
    if (verdict.type === 'allow' || !(await policies().freshen())) return verdict;
    return judge(await policies().usable(), target);
  }

  const refusals = createTokenBucket({ capacity: 2, refillPerSecond: 0.5, now_ms: clock.mono_ms });
  /** A refusal of the provider looks the same here, so that the fetches that refusals cause are limited. */
  function onRefused(): void {
    if (refusals.take()) known?.changed();
  }

  const forward =
    'missing' in platform
      ? undefined
      : createForwarder({
          ...deps,
          ...config,
          gate,
          audit,
          metrics,
          openCalls,
          limits,
          platform,
          verdictOn,
          onRefused,
        });

  const shown = async () => policies().snapshot ?? (await policies().usable());
  const local = () => ({ socket: config.socket, tcp: tcpAddress });
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
        mayDraw: deps.mayDraw ?? (async () => undefined),
        local,
        askPlatform: discovery.askPlatform,
      }),
      gateway: async ({ request, upgrade, principal }, response) => {
        if (forward === undefined) policies();
        unrecorded += 1;
        try {
          await forward?.(request, response, upgrade, principal?.until);
        } finally {
          unrecorded -= 1;
        }
      },
    },
    start(signal, loopback) {
      tcpAddress = loopback;
      tokens.load();
      if ('missing' in platform) {
        part.set('off', `there is no ${platform.missing.join(' and ')}`);
        return;
      }
      updatePart();
      known?.start(signal);
    },
    async onResume() {
      tokens.expire();
      openCalls.endTunnels(new RemoraError('resuming', 'the machine was resumed; connect again'));
      await known?.refreshNow();
    },
    settle: audit.settle,
    async abandon(reason) {
      openCalls.endAll(reason);
      for (let waits = 0; waits < ABANDON_WAITS && unrecorded > 0; waits += 1) await sleep(ABANDON_WAIT_MS);
      await audit.settle();
    },
    openStreams: () => openCalls.size,
    calls: openCalls.tally,
    callCounts: metrics.counts,
    spriteUrl: () => known?.snapshot?.document.sprite.url,
    verifyToken: (token) => tokens.verify(token),
    onAccessRefusal: createAccessRefusals({ audit, metrics, now_ms: clock.mono_ms }),
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

/** Names platform, sprite and credential without giving the credential away. */
function toSourceKey({ baseUrl, sprite, token }: Extract<Platform, { baseUrl: string }>): string {
  return createHash('sha256').update(`${baseUrl}\n${sprite}\n${token.reveal()}`).digest('hex');
}
