// Forwards one gateway call, from its first byte to its audit record: checks its shape, judges it, and streams it to the platform.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { errorStatus } from '../../contract/errors.ts';
import type { Clock } from '../../core/clock.ts';
import { createAnswerGuard } from '../../core/gateway/answer-guard.ts';
import type { CallLimits } from '../../core/gateway/call-limits.ts';
import { withoutCapability } from '../../core/gateway/capability-text.ts';
import { GatewayHeaders } from '../../core/gateway/gateway-headers.ts';
import { parseGatewayTarget } from '../../core/gateway/gateway-target.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Secret } from '../../core/secret.ts';
import { withoutLastSlashes } from '../../core/without-last-slashes.ts';
import { withoutQuery } from '../../core/without-query.ts';
import type { ExchangeOutcome } from '../../http/exchange-outcome.ts';
import { streamExchange } from '../../http/streaming-proxy.ts';
import { toTunnel } from '../../http/to-tunnel.ts';
import type { Upgrade } from '../../http/upgrade.ts';
import type { Upstream } from '../upstream.ts';
import type { AuditLog } from './audit/audit-log.ts';
import type { AuditEntry } from './audit/audit-request.ts';
import { toEmptyEntry } from './audit/empty-audit-entry.ts';
import type { CallMetrics } from './call-metrics.ts';
import type { GatewayConfig } from './gateway-options.ts';
import type { HeldCall, HeldCalls } from './held-calls.ts';
import type { OpenCall, OpenCalls } from './open-calls.ts';
import { PlatformExchange, type PlatformHop } from './platform-exchange.ts';
import type { Verdict } from './policies/judge-call.ts';
import type { Verdicts } from './policies/verdicts.ts';

/** How many calls may be in flight. Each takes two descriptors, and a program in an endless loop must not take all of them. */
export const MAX_OPEN_CALLS = 2_048;

/** Read at each call, because a reload changes them. */
export type ForwarderSettings = Pick<
  GatewayConfig,
  'bodyCap_bytes' | 'bodyIdle_ms' | 'targetCap_bytes' | 'headersTimeout_ms' | 'idleTimeout_ms' | 'websocketIdle_ms'
>;

export interface ForwarderOptions extends Verdicts {
  readonly clock: Clock;
  readonly upstream: Upstream;
  readonly audit: AuditLog;
  readonly metrics: CallMetrics;
  readonly openCalls: OpenCalls;
  readonly heldCalls: HeldCalls;
  readonly limits: CallLimits;
  readonly platform: { readonly baseUrl: string; readonly token: Secret };
  readonly settings: ForwarderSettings;
  /** Called in each turn of the event loop that works for a gateway call, so that a long turn is attributed to it. */
  readonly onTurn?: (() => void) | undefined;
  readonly identity: () => Readonly<Record<string, string>>;
  /** Waits while the machine is being suspended or resumed; undefined when nobody has to wait. */
  readonly gate: () => Promise<void> | undefined;
  /** Called when the platform refused a call that was allowed here. The refusal stands; the policies here may be out of date. */
  readonly onRefused: () => void;
}

/** Answers through `response`; throws the RemoraError to answer with while nothing has been sent. */
export type Forward = (
  request: IncomingMessage,
  response: ServerResponse,
  upgrade?: Upgrade,
  /** Ends the call with its reason. */
  until?: AbortSignal,
) => Promise<void>;

export function createForwarder(options: ForwarderOptions): Forward {
  const { origin, pathname } = new URL(options.platform.baseUrl);
  const basePath = withoutLastSlashes(pathname);

  const guard = createAnswerGuard(options.platform.token);
  const authorization = ['authorization', `Bearer ${options.platform.token.reveal()}`];
  let known: ReturnType<typeof options.identity> | undefined;
  let headers: GatewayHeaders | undefined;

  /** The headers of a call. What is added to them is built once for each incarnation of the machine. */
  function presentHeaders(): GatewayHeaders {
    const identity = options.identity();
    if (headers === undefined || identity !== known) {
      const injected = [...authorization, ...Object.entries(identity).flat()];
      headers = new GatewayHeaders({ from: 'platform', injected, guard });
      known = identity;
    }
    return headers;
  }

  const { upstream, settings, onTurn, gate } = options;
  const hop: PlatformHop = { origin, upstream, settings, onTurn, presentHeaders, gate };

  /** A verdict that has to wait for nothing comes at once. */
  function verdict(request: IncomingMessage, held: HeldCall): Verdict | Promise<Verdict> {
    const target = parseGatewayTarget(request.method ?? '', request.url ?? '', request.rawHeaders);
    if (target.type === 'reject') return target;
    if ((request.url ?? '').length > options.settings.targetCap_bytes) return tooLong(options.settings.targetCap_bytes);
    options.openCalls.arrive();
    if (options.openCalls.size >= MAX_OPEN_CALLS) {
      throw new RemoraError('too_many_requests', `there are ${MAX_OPEN_CALLS} calls in flight; let some finish`, {
        retryAfter_ms: 1_000,
      });
    }
    const pass = () => {
      held.pass();
      return options.verdictOn(target);
    };
    const gate = options.gate();
    return gate === undefined ? pass() : gate.then(pass);
  }

  /** What is known of a call that was sent, once it is over. */
  function note(outcome: ExchangeOutcome, exchange: PlatformExchange, entry: AuditEntry): void {
    const { status = null } = outcome;
    if (status === 401 || status === 403) options.onRefused();
    entry.ended = outcome.ended;
    entry.status = status;
    entry.request_bytes = outcome.request_bytes;
    entry.response_bytes = outcome.response_bytes;
    entry.code = codeOf(outcome.reason ?? exchange.signal.reason);
    const used = exchange.usage?.read();
    if (used !== undefined) Object.assign(entry, used);
  }

  return async (request, response, upgrade, until) => {
    const started_ms = options.clock.mono_ms();
    const entry = toEmptyEntry(request);
    // Each of these would cost a call as much as a look at its policy does if `using` held it.
    const held = options.heldCalls.begin();
    let admitted: Disposable | undefined;
    let call: OpenCall | undefined;
    try {
      const judged = verdict(request, held);
      const found = options.confirm(judged instanceof Promise ? await judged : judged);
      describe(found, entry);
      if (found.type !== 'allow') throw toRefusal(found);
      const tunnel = toTunnel(request, upgrade, options.settings.websocketIdle_ms);
      admitted = options.limits.admit(found.target.connector_id);
      call = options.openCalls.open(found.target, tunnel !== undefined, until);
      const path = basePath + withoutCapability(request.url ?? '');
      const exchange = new PlatformExchange(hop, path, call, tunnel);
      note(await streamExchange(request, response, exchange), exchange, entry);
    } catch (error) {
      const code = codeOf(error) ?? 'internal';
      entry.code = code;
      entry.status = response.destroyed ? null : errorStatus[code];
      throw error;
    } finally {
      call?.[Symbol.dispose]();
      admitted?.[Symbol.dispose]();
      entry.ms = Math.round(options.clock.mono_ms() - started_ms);
      options.audit.add(entry);
      options.metrics.add(entry);
      held[Symbol.dispose]();
    }
  };
}

function tooLong(cap_bytes: number): Verdict {
  const message = `the request target may have at most ${cap_bytes} bytes`;
  return { type: 'reject', code: 'target_too_long', message };
}

/** The error of a call that is not forwarded. */
export function toRefusal(verdict: Exclude<Verdict, { type: 'allow' }>): RemoraError {
  const details = verdict.type === 'reject' ? verdict.details : undefined;
  return new RemoraError(verdict.code, verdict.message, details === undefined ? {} : { details });
}

function describe(verdict: Verdict, entry: AuditEntry): void {
  entry.decision = verdict.type;
  if (verdict.target === undefined) return;
  const { provider, connector_id, path } = verdict.target;
  entry.provider = provider;
  entry.connector_id = connector_id;
  entry.path = withoutQuery(path);
  if (verdict.type !== 'reject') entry.rule = verdict.rule;
}

function codeOf(error: unknown) {
  return error instanceof RemoraError ? error.code : null;
}
