// What the gateway has when its settings name a platform: policies, verdicts and calls, and what callers find out about them. An agent
// without a platform never loads it.
import type { gatewayOperations } from '../../contract/local/gateway.ts';
import { createTokenBucket } from '../../core/token-bucket.ts';
import type { Handlers } from '../../http/handler.ts';
import type { AuditLog } from './audit/audit-log.ts';
import type { CallMetrics } from './call-metrics.ts';
import { type Calls, createCalls } from './calls.ts';
import type { LocalAddress } from './connector-list.ts';
import { createDiscovery } from './discovery.ts';
import { createGatewayHandlers } from './gateway-handlers.ts';
import type { GatewayCaller, GatewayOptions } from './gateway-options.ts';
import type { GatewayPlatform } from './gateway-platform.ts';
import { createGatewayStatus, type GatewayStatus } from './gateway-status.ts';
import { createPolicies, type Policies, type PoliciesOptions, type PolicyUpdate } from './policies/policies.ts';
import { createPolicySource } from './policies/policy-source.ts';
import { createPolicyStore } from './policies/policy-store.ts';
import { createVerdicts } from './policies/verdicts.ts';
import type { TokenOperation } from './token-handlers.ts';

export interface WorkingGatewayOptions extends GatewayOptions {
  readonly platform: GatewayPlatform;
  readonly audit: AuditLog;
  readonly metrics: CallMetrics;
  readonly local: () => LocalAddress;
}

/** The operations that need policies. */
export type WorkingHandlers = Handlers<Omit<typeof gatewayOperations, TokenOperation>, GatewayCaller | undefined>;

export interface WorkingGateway {
  readonly handlers: WorkingHandlers;
  readonly policies: Policies;
  readonly calls: Calls;
  readonly status: Pick<GatewayStatus, 'show'>;
}

export function createWorkingGateway(options: WorkingGatewayOptions): WorkingGateway {
  const { audit, clock, config, hub, local, log, part, platform } = options;
  const gate = options.gate ?? (() => undefined);
  const policies = createPoliciesOf(options, { onUpdate, onChanges: (state) => status.onChanges(state) });
  const status = createGatewayStatus({
    part,
    log,
    refresh_ms: Math.min(config.policyRefresh_ms, config.policyMaxAge_ms / 2),
    isUsable: () => policies.isUsable,
    auditProblem: () => audit.problem,
  });

  function onUpdate(update: PolicyUpdate): void {
    status.onUpdate(update);
    options.onAsked?.();
    if (!update.changed) return;
    hub.publish('policies_changed', { connectors: policies.snapshot?.connectors.size ?? 0 });
    if (policies.snapshot !== undefined) calls.recheck.begin(policies.snapshot);
  }

  const verdicts = createVerdicts(policies);
  const refusals = createTokenBucket({ capacity: 2, refillPerSecond: 0.5, now_ms: clock.mono_ms });
  /** Fetches the policies. Refusals by the provider look like those by the platform and need no fetch, so that fetches are limited. */
  function onRefused(): void {
    if (refusals.take()) policies.changed();
  }

  const calls = createCalls({ ...options, ...verdicts, gate, onRefused });
  const shown = async () => policies.snapshot ?? (await policies.usable());
  const discovery = createDiscovery({
    platform,
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
        verdictOn: async (target) => await verdicts.verdictOn(target),
        local,
        askPlatform: discovery.askPlatform,
      }),
      gateway: ({ request, upgrade, principal }, response) =>
        calls.forward(request, response, upgrade, principal?.until),
    },
    policies,
    calls,
    status,
  };
}

function createPoliciesOf(
  options: WorkingGatewayOptions,
  listeners: Pick<PoliciesOptions, 'onUpdate' | 'onChanges'>,
): Policies {
  const { clock, config, db, identity, platform, random, upstream } = options;
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
    gate: options.refreshGate ?? (async () => await options.gate?.()),
  });
}
