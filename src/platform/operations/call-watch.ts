// Every call from its arrival to its last byte: counted, and written to the log by the path of its row, never by its own target.
import type { IncomingMessage, Server } from 'node:http';
import type { Operation, Operations } from '../../contract/operation.ts';
import type { Principal } from '../tokens/principal.ts';
import type { PlatformMetrics } from './platform-metrics.ts';

export interface CallWatch {
  /** Notes which row a request met, and later who it is from. */
  met(request: IncomingMessage, row: Operation): void;
  from(request: IncomingMessage, principal: Principal): void;
  watch(server: Server): void;
}

interface Seen {
  readonly row: Operation;
  principal: Principal | undefined;
}

/** Asked all the time by machines. The gateway writes lines of its own. */
const QUIET = ['health', 'metrics', 'openapi', 'gateway'];

export function createCallWatch(
  operations: Operations,
  metrics: PlatformMetrics,
  log: { info(fields: object, message: string): void },
): CallWatch {
  const ids = new Map(Object.entries(operations).map(([id, row]) => [row, id]));
  const seen = new WeakMap<IncomingMessage, Seen>();
  return {
    met(request, row) {
      seen.set(request, { row, principal: undefined });
    },
    from(request, principal) {
      const call = seen.get(request);
      if (call !== undefined) call.principal = principal;
    },
    watch(server) {
      server.prependListener('request', (request, response) => {
        const started_ms = performance.now();
        response.once('close', () => {
          const { row, principal } = seen.get(request) ?? {};
          const operation = (row === undefined ? undefined : ids.get(row)) ?? 'none';
          const ms = performance.now() - started_ms;
          metrics.countCall(operation, response.statusCode, ms / 1_000);
          if (QUIET.includes(operation)) return;
          const who =
            principal === undefined || principal.type === 'anonymous'
              ? {}
              : { organization: principal.organization.slug, token: principal.token.id };
          const complete = response.writableFinished ? {} : { broken_off: true };
          const what = { operation, method: request.method, path: row?.path, status: response.statusCode };
          log.info({ ...what, ...who, ...complete, ms: Math.round(ms) }, 'call');
        });
      });
    },
  };
}
