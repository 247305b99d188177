// Gives the detector the clocks in answers of upstreams, and connections that break while in use. Answers to gateway calls are
// left out, because they carry the clocks of providers.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { gatewayOperations } from '../../contract/gateway.ts';

export interface UpstreamListener {
  /** `took_ms`: how long ago the call was made. */
  noteDate(origin: string, date_ms: number, took_ms: number): void;
  noteFailure(origin: string): void;
}

const ASKED = 'undici:request:create';
const ANSWERED = 'undici:request:headers';
const FAILED = 'undici:request:error';
const broken = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

/** The gateway's path up to its parameters. */
const gatewayPrefix = gatewayOperations.gateway.path.split('{')[0] ?? '';

/** Observes every outgoing call of this process until disposed. */
export function openUpstreamObserver(listener: UpstreamListener): Disposable {
  const asked_ms = new WeakMap<object, number>();
  const onCall = (message: unknown) => {
    const request = field(message, 'request');
    if (typeof request !== 'object' || request === null || isGatewayCall(request)) return;
    asked_ms.set(request, performance.now());
  };
  const onAnswer = (message: unknown) => {
    const request = field(message, 'request');
    const origin = isGatewayCall(request) ? undefined : toOrigin(request);
    if (origin === undefined) return;
    const date_ms = parseDate(field(field(message, 'response'), 'headers'));
    if (date_ms === undefined) return;
    const begun_ms = typeof request === 'object' && request !== null ? asked_ms.get(request) : undefined;
    listener.noteDate(origin, date_ms, begun_ms === undefined ? 0 : performance.now() - begun_ms);
  };
  const onFailure = (message: unknown) => {
    const origin = toOrigin(field(message, 'request'));
    const code = field(field(message, 'error'), 'code');
    if (origin !== undefined && typeof code === 'string' && broken.has(code)) listener.noteFailure(origin);
  };
  subscribe(ASKED, onCall);
  subscribe(ANSWERED, onAnswer);
  subscribe(FAILED, onFailure);
  return {
    [Symbol.dispose]() {
      unsubscribe(ASKED, onCall);
      unsubscribe(ANSWERED, onAnswer);
      unsubscribe(FAILED, onFailure);
    },
  };
}

/** Asked first: there may be thousands of these calls in a second, and weak keys cost each collection of garbage. */
function isGatewayCall(request: unknown): boolean {
  const path = field(request, 'path');
  return typeof path === 'string' && path.includes(gatewayPrefix);
}

function toOrigin(request: unknown): string | undefined {
  const origin = field(request, 'origin');
  return typeof origin === 'string' || origin instanceof URL ? String(origin) : undefined;
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

/** `headers` are names and values in turn, as bytes. Undefined without a valid `Date`. */
function parseDate(headers: unknown): number | undefined {
  if (!Array.isArray(headers)) return undefined;
  for (let index = 0; index + 1 < headers.length; index += 2) {
    if (String(headers[index]).toLowerCase() !== 'date') continue;
    const date_ms = Date.parse(String(headers[index + 1]));
    return Number.isNaN(date_ms) ? undefined : date_ms;
  }
  return undefined;
}
