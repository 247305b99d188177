// Counts and logs every call from its arrival to its last byte. A line has the path of the operation, never the target of the request.
import type { IncomingMessage, Server } from 'node:http';
import type { Operation, Operations } from '../../contract/operation.ts';
import type { Log } from '../../core/log.ts';
import { isCaller, type Principal } from '../tokens/principal.ts';
import type { PlatformMetrics } from './platform-metrics.ts';

export interface AccessLog {
  /** Notes the operation of a request, and its caller once that is known. */
  met(request: IncomingMessage, operation: Operation): void;
  from(request: IncomingMessage, principal: Principal): void;
  watch(server: Server): void;
}

interface Seen {
  readonly operation: Operation;
  principal: Principal | undefined;
}

/** Operations without a line: programs ask them all the time, and the gateway writes lines of its own. */
const QUIET = ['health', 'metrics', 'openapi', 'gateway'];

export function createAccessLog(operations: Operations, metrics: PlatformMetrics, log: Log): AccessLog {
  const ids = new Map(Object.entries(operations).map(([id, operation]) => [operation, id]));
  const seen = new WeakMap<IncomingMessage, Seen>();
  return {
    met(request, operation) {
      seen.set(request, { operation, principal: undefined });
    },
    from(request, principal) {
      const call = seen.get(request);
      if (call !== undefined) call.principal = principal;
    },
    watch(server) {
      server.prependListener('request', (request, response) => {
        const started_ms = performance.now();
        response.once('close', () => {
          const { operation, principal } = seen.get(request) ?? {};
          const operation_id = (operation === undefined ? undefined : ids.get(operation)) ?? 'none';
          const ms = performance.now() - started_ms;
          metrics.countCall(operation_id, response.statusCode, ms / 1_000);
          if (QUIET.includes(operation_id)) return;
          const who =
            principal !== undefined && isCaller(principal)
              ? { organization: principal.organization.slug, token: principal.token.id }
              : {};
          const complete = response.writableFinished ? {} : { broken_off: true };
          const what = {
            operation: operation_id,
            method: request.method,
            path: operation?.path,
            status: response.statusCode,
          };
          log.info({ ...what, ...who, ...complete, ms: Math.round(ms) }, 'call');
        });
      });
    },
  };
}
