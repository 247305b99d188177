// Puts the gateway of the agent together: policies from the platform, the verdict, the calls, the log, and the tokens for the
// loopback listener.
import { join } from 'node:path';
import type { gatewayOperations } from '../../contract/local/gateway.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { createTokenBucket } from '../../core/token-bucket.ts';
import type { Handlers } from '../../http/handler.ts';
import { type Capability, createCapabilityTokens } from '../access/capability-tokens.ts';
import { createAccessRefusals, type OnAccessRefusal } from './access-refusals.ts';
import { createAuditLog, LOG_MAX_ROWS } from './audit/audit-log.ts';
import { createAuditThread } from './audit/audit-thread.ts';
import { type CallCounts, createCallMetrics } from './call-metrics.ts';
import { createCalls } from './calls.ts';
import { createDiscovery } from './discovery.ts';
import { createGatewayHandlers } from './gateway-handlers.ts';
import type { GatewayOptions } from './gateway-options.ts';
import { type GatewayPlatform, toGatewayPlatform, whyOff } from './gateway-platform.ts';
import { createGatewayStatus } from './gateway-status.ts';
import type { CallTally } from './open-calls.ts';
import { createPolicies, type Policies, type PoliciesOptions, type PolicyUpdate } from './policies/policies.ts';
import type { PolicyDocument } from './policies/policy-snapshot.ts';
import { createPolicySource } from './policies/policy-source.ts';
import { createPolicyStore } from './policies/policy-store.ts';
import { createVerdicts } from './policies/verdicts.ts';

export interface GatewayCaller {
  /** Ends the calls of this caller with its reason. */
  readonly until?: AbortSignal;
}

export interface Gateway extends AsyncDisposable {
  readonly handlers: Handlers<typeof gatewayOperations, GatewayCaller | undefined>;
  /** Reads the stored policies and fetches newer ones until `signal`. `loopback` is `host:port` of the loopback listener, if there is one. */
  start(signal: AbortSignal, loopback?: string): void;
  /** Fetches the policies again; resolves when the fetch has ended, whatever came of it. */
  recover(): Promise<void>;
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
  /** What the platform says of this sprite. Rejects when it has not said anything, and cannot be asked. */
  ownSprite(): Promise<PolicyDocument['sprite']>;
  /** The address of this sprite as the platform shows it. */
  spriteUrl(): string | undefined;
  /** What a token of the loopback listener opens; undefined for one that is unknown or expired. */
  verifyToken(token: string): Capability | undefined;
  /** Called for each call that the authenticator refused. */
  readonly onAccessRefusal: OnAccessRefusal;
}

export function createGateway(options: GatewayOptions): Gateway {
  const { clock, config, hub, log, part } = options;
  const gate = options.gate ?? (async () => undefined);
  const path = join(config.stateDir, 'gateway-log.db');
  const audit = createAuditLog({
    link: options.auditLink ?? createAuditThread({ path, maxRows: LOG_MAX_ROWS, maxAge_ms: config.logMaxAge_ms }),
    clock,
    onProblem() {
      if (known !== undefined) status.show();
    },
  });
  const metrics = createCallMetrics();
  const tokens = createCapabilityTokens(options.db, clock, (err) => log.warn({ err }, 'a gateway token was not kept'));
  const platform = toGatewayPlatform(config);
  const known =
    platform === undefined
      ? undefined
      : createPoliciesOf(platform, options, { onUpdate, onChanges: (state) => status.onChanges(state) });
  let tcpAddress: string | undefined;
  const status = createGatewayStatus({
    part,
    log,
    refresh_ms: Math.min(config.policyRefresh_ms, config.policyMaxAge_ms / 2),
    isUsable: () => known?.isUsable === true,
    auditProblem: () => audit.problem,
  });

  function policies(): Policies {
    if (known === undefined) throw notConfigured();
    return known;
  }

  function notConfigured(): RemoraError {
    return new RemoraError('not_configured', `the gateway is off, because ${whyOff(config)}`);
  }

  function onUpdate(update: PolicyUpdate): void {
    status.onUpdate(update);
    if (!update.changed) return;
    hub.publish('policies_changed', { connectors: known?.snapshot?.connectors.size ?? 0 });
    if (known?.snapshot !== undefined) calls?.recheck.begin(known.snapshot);
  }

  const verdicts = createVerdicts(policies);
  const refusals = createTokenBucket({ capacity: 2, refillPerSecond: 0.5, now_ms: clock.mono_ms });
  /** Fetches the policies. Refusals by the provider look like those by the platform and need no fetch, so that fetches are limited. */
  function onRefused(): void {
    if (refusals.take()) known?.changed();
  }

  const calls =
    platform === undefined
      ? undefined
      : createCalls({ ...options, gate, platform, audit, metrics, ...verdicts, onRefused });

  const shown = async () => policies().snapshot ?? (await policies().usable());
  const local = () => ({ socket: config.socket, tcp: tcpAddress });
  const discovery = createDiscovery({
    platform() {
      if (platform === undefined) throw notConfigured();
      return platform;
    },
    dispatcher: () => options.upstream.dispatcher,
    identity: options.identity,
    shown,
    local,
  });

  return {
    handlers: {
      ...discovery.handlers,
      ...createGatewayHandlers({
        policies,
        shown,
        verdictOn: verdicts.verdictOn,
        audit,
        tokens,
        mayDraw: options.mayDraw ?? (async () => undefined),
        local,
        askPlatform: discovery.askPlatform,
      }),
      gateway({ request, upgrade, principal }, response) {
        if (calls === undefined) throw notConfigured();
        return calls.forward(request, response, upgrade, principal?.until);
      },
    },
    start(signal, loopback) {
      tcpAddress = loopback;
      tokens.load();
      if (known === undefined) {
        part.set('off', whyOff(config));
        return;
      }
      status.show();
      known.start(signal);
    },
    async recover() {
      tokens.expire();
      calls?.endTunnels();
      await known?.refreshNow();
    },
    settle: audit.settle,
    async abandon(reason) {
      await calls?.abandon(reason);
      await audit.settle();
    },
    openStreams: () => calls?.size ?? 0,
    calls: () => calls?.tally() ?? { open: new Map(), total: 0 },
    callCounts: metrics.counts,
    ownSprite: async () => (await shown()).document.sprite,
    spriteUrl: () => known?.snapshot?.document.sprite.url,
    verifyToken: (token) => tokens.verify(token),
    onAccessRefusal: createAccessRefusals({ audit, metrics, now_ms: clock.mono_ms }),
    async [Symbol.asyncDispose]() {
      calls?.[Symbol.dispose]();
      tokens[Symbol.dispose]();
      await audit[Symbol.asyncDispose]();
    },
  };
}

function createPoliciesOf(
  platform: GatewayPlatform,
  options: GatewayOptions,
  listeners: Pick<PoliciesOptions, 'onUpdate' | 'onChanges'>,
): Policies {
  const { clock, config, db, identity, random, upstream } = options;
  return createPolicies({
    ...{ clock, random, ...listeners },
    store: createPolicyStore(db, platform),
    source: createPolicySource({
      ...platform,
      dispatcher: () => upstream.dispatcher,
      headers: () => ({ authorization: `Bearer ${platform.token.reveal()}`, ...identity() }),
    }),
    connections: () => upstream.dispatcher,
    maxAge_ms: config.policyMaxAge_ms,
    refresh_ms: config.policyRefresh_ms,
    gate: options.refreshGate ?? options.gate ?? (async () => undefined),
  });
}
