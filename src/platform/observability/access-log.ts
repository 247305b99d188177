// Counts and logs every call once it is over. A line has the path of the operation, never the target of the request.
import type { Log } from '../../core/log.ts';
import type { FinishedCall, OnCall } from '../../http/finished-call.ts';
import { isCaller, type Principal } from '../tokens/principal.ts';
import type { PlatformMetrics } from './platform-metrics.ts';

export type AccessLog = OnCall<Principal>;

/** Operations without a line: programs ask them all the time, and the gateway writes lines of its own. */
const QUIET = ['health', 'metrics', 'openapi', 'gateway'];

/** `onCall` of the edge. */
export function createAccessLog(metrics: Pick<PlatformMetrics, 'countCall'>, log: Pick<Log, 'info'>): AccessLog {
  return ({ operation_id = 'none', operation, principal, method, status, ms, complete }) => {
    metrics.countCall(operation_id, status, ms / 1_000);
    if (QUIET.includes(operation_id)) return;
    const what = { operation: operation_id, method, path: operation?.path, status };
    const end = complete ? {} : { broken_off: true };
    log.info({ ...what, ...toWho(principal), ...end, ms: Math.round(ms) }, 'call');
  };
}

function toWho(principal: FinishedCall<Principal>['principal']): object {
  if (principal === undefined || !isCaller(principal)) return {};
  return { organization: principal.organization.slug, token: principal.token.id };
}
