// One call of the gateway from its first byte to its audit record: shape, verdict, stream to the platform.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { errorStatus } from '../../contract/errors.ts';
import type { CallLimits } from '../../core/call-limits.ts';
import { withoutCapability } from '../../core/capability-query.ts';
import type { Clock } from '../../core/clock.ts';
import { type GatewayTarget, parseGatewayTarget } from '../../core/gateway-target.ts';
import { toUpstreamHeaders } from '../../core/header-hygiene.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Secret } from '../../core/secret.ts';
import { createUsageReader, type UsageReader } from '../../core/token-usage.ts';
import { withoutQuery } from '../../core/without-query.ts';
import { streamExchange } from '../../http/streaming-proxy.ts';
import { toTunnel } from '../../http/to-tunnel.ts';
import type { Upgrade } from '../../http/upgrade.ts';
import type { Upstream } from '../upstream.ts';
import type { AuditLog } from './audit-log.ts';
import type { AuditEntry } from './audit-request.ts';
import type { CallMeter } from './call-meter.ts';
import { toEmptyEntry } from './empty-entry.ts';
import type { Verdict } from './judge.ts';
import type { OpenCalls } from './open-calls.ts';

/** Calls in flight. Each costs two connections, so a loop gone wild must not take every descriptor. */
export const MAX_OPEN_CALLS = 2_048;
/** The platform has its own limit; it is to answer first, because it knows more. */
const PLATFORM_GRACE_MS = 10_000;

export interface ForwarderOptions {
  readonly clock: Clock;
  readonly upstream: Upstream;
  readonly audit: AuditLog;
  readonly meter: CallMeter;
  readonly openCalls: OpenCalls;
  readonly limits: CallLimits;
  readonly platform: { readonly baseUrl: string; readonly token: Secret };
  readonly bodyCap_bytes: number;
  readonly targetCap_bytes: number;
  /** Until the provider's status line. */
  readonly headersTimeout_ms: number;
  /** Between two pieces of an answer; 0 = no limit. */
  readonly idleTimeout_ms: number;
  readonly websocketIdle_ms: number;
  readonly identity: () => Readonly<Record<string, string>>;
  /** Waits while the machine is being suspended or resumed. */
  readonly gate: () => Promise<void>;
  readonly verdictOn: (target: GatewayTarget) => Promise<Verdict>;
  /** What was allowed here was refused: that stands, and what is known here may be out of date. */
  readonly onRefused: () => void;
}

/** Answers through `response`, or throws the RemoraError to answer with while nothing has been sent. */
export type Forward = (
  request: IncomingMessage,
  response: ServerResponse,
  upgrade?: Upgrade,
  /** Ends the call with its reason. */
  until?: AbortSignal,
) => Promise<void>;

export function createForwarder(options: ForwarderOptions): Forward {
  const { origin, pathname } = new URL(options.platform.baseUrl);
  const basePath = pathname.replace(/\/+$/, '');

  const authorization = ['authorization', `Bearer ${options.platform.token.reveal()}`];
  let known: ReturnType<typeof options.identity> | undefined;
  let injected: readonly string[] = [];

  /** Made once for each life of the machine. */
  function inject(): readonly string[] {
    const identity = options.identity();
    if (identity !== known) injected = [...authorization, ...Object.entries(identity).flat()];
    known = identity;
    return injected;
  }

  async function verdict(request: IncomingMessage): Promise<Verdict> {
    const target = parseGatewayTarget(request.method ?? '', request.url ?? '', request.rawHeaders);
    if (target.type === 'reject') return target;
    if ((request.url ?? '').length > options.targetCap_bytes) return tooLong(options.targetCap_bytes);
    options.openCalls.arrive();
    if (options.openCalls.size >= MAX_OPEN_CALLS) {
      throw new RemoraError('too_many_requests', `there are ${MAX_OPEN_CALLS} calls in flight; let some finish`, {
        retryAfter_ms: 1_000,
      });
    }
    await options.gate();
    return await options.verdictOn(target);
  }

  async function stream(
    request: IncomingMessage,
    response: ServerResponse,
    upgrade: Upgrade | undefined,
    until: AbortSignal | undefined,
    { target }: Extract<Verdict, { type: 'allow' }>,
    entry: AuditEntry,
  ): Promise<void> {
    const tunnel = toTunnel(request, upgrade, options.websocketIdle_ms);
    using _admitted = options.limits.admit(target.connector_id);
    using call = options.openCalls.open(target, tunnel !== undefined, until);
    let usage: UsageReader | undefined;
    const outcome = await streamExchange(request, response, {
      dispatcher: () => options.upstream.dispatcher,
      origin,
      path: basePath + withoutCapability(request.url ?? ''),
      headers: toUpstreamHeaders(request.rawHeaders, inject()),
      from: 'platform',
      signal: call.signal,
      headersTimeout_ms: options.headersTimeout_ms + PLATFORM_GRACE_MS,
      idleTimeout_ms: options.idleTimeout_ms,
      ...(tunnel === undefined ? {} : { tunnel }),
      bodyCap_bytes: options.bodyCap_bytes,
      observe(headers) {
        usage = createUsageReader(headers);
        return usage?.push;
      },
    });
    const { status = null } = outcome;
    if (status === 401 || status === 403) options.onRefused();
    entry.ended = outcome.ended;
    entry.status = status;
    entry.request_bytes = outcome.request_bytes;
    entry.response_bytes = outcome.response_bytes;
    entry.code = codeOf(outcome.reason ?? call.signal.reason);
    const used = usage?.read();
    if (used !== undefined) Object.assign(entry, used);
  }

  return async (request, response, upgrade, until) => {
    const started_ms = options.clock.mono_ms();
    const entry = toEmptyEntry(request);
    try {
      const found = await verdict(request);
      describe(found, entry);
      if (found.type !== 'allow') throw toRefusal(found);
      await stream(request, response, upgrade, until, found, entry);
    } catch (error) {
      const code = codeOf(error) ?? 'internal';
      entry.code = code;
      entry.status = response.destroyed ? null : errorStatus[code];
      throw error;
    } finally {
      entry.ms = Math.round(options.clock.mono_ms() - started_ms);
      options.audit.add(entry);
      options.meter.add(entry);
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
