// What is kept of requests: how many came, by app and kind of answer, and a line for some of them. No line has a query, a header or a name of
// a caller.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Log } from '../../core/log.ts';
import { randomFraction } from '../../core/urandom.ts';
import { withoutQuery } from '../../core/without-query.ts';
import type { HostTarget } from './host-names.ts';

export interface RequestLogOptions {
  /** The share of requests of which a line is written: 0 to 1. */
  readonly share: number;
  readonly log: Pick<Log, 'info'>;
  readonly addressOf: (request: IncomingMessage) => string;
  /** Monotonic milliseconds. */
  readonly now_ms: () => number;
}

/** One request on its way through the proxy. */
export interface LoggedRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly begun_ms: number;
  target: HostTarget | undefined;
}

/** Answers by the first digit of their status; 0: none. */
const KINDS = ['none', '1xx', '2xx', '3xx', '4xx', '5xx'] as const;
const APPS_MAX = 10_000;

export class RequestLog {
  readonly #options: RequestLogOptions;
  readonly #counts = new Map<string, number[]>();

  constructor(options: RequestLogOptions) {
    this.#options = options;
  }

  begin(request: IncomingMessage, response: ServerResponse): LoggedRequest {
    return { request, response, begun_ms: this.#options.share > 0 ? this.#options.now_ms() : 0, target: undefined };
  }

  end(logged: LoggedRequest): void {
    const { response, target } = logged;
    const status = response.headersSent ? response.statusCode : 0;
    const app = appOf(target);
    const counts = this.#counts.get(app) ?? this.#add(app);
    const kind = Math.min(Math.floor(status / 100), KINDS.length - 1);
    counts[kind] = (counts[kind] ?? 0) + 1;
    const { share } = this.#options;
    if (share > 0 && (share >= 1 || randomFraction() < share)) this.#write(logged, status, app);
  }

  /** How many requests are over: app, kind of answer, count. */
  *totals(): Generator<readonly [app: string, kind: string, count: number]> {
    for (const [app, counts] of this.#counts) {
      for (const [kind, count] of counts.entries()) if (count > 0) yield [app, KINDS[kind] ?? 'none', count];
    }
  }

  #add(app: string): number[] {
    const counts = KINDS.map(() => 0);
    const [oldest] = this.#counts.keys();
    if (this.#counts.size >= APPS_MAX && oldest !== undefined) this.#counts.delete(oldest);
    this.#counts.set(app, counts);
    return counts;
  }

  #write({ request, response, begun_ms, target }: LoggedRequest, status: number, app: string): void {
    const { log, addressOf, now_ms } = this.#options;
    const found = target?.type === 'sprite' ? target.found : undefined;
    const where = found === undefined ? {} : { organization: found.organization.slug, sprite: found.sprite.name };
    const what = { method: request.method, path: withoutQuery(request.url ?? ''), status };
    const end = response.writableEnded || status === 101 ? {} : { broken_off: true };
    log.info(
      { app, ...where, ...what, address: addressOf(request), ms: Math.round(now_ms() - begun_ms), ...end },
      'request',
    );
  }
}

/** `none` for what reached no app: a name that nobody has, or that the proxy does not serve. */
function appOf(target: HostTarget | undefined): string {
  if (target === undefined) return 'none';
  if (target.type === 'app') return target.machines.length === 0 ? 'none' : target.app;
  return target.found?.machine?.app ?? 'none';
}
