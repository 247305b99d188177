// Builds the record of a call of which only the request line is known yet. Pure.
import type { IncomingMessage } from 'node:http';
import { toLoggedPath } from '../../../core/gateway/capability-text.ts';
import { withoutQuery } from '../../../core/without-query.ts';
import type { AuditEntry } from './audit-request.ts';

export function toEmptyEntry(request: Pick<IncomingMessage, 'method' | 'url'>): AuditEntry {
  return {
    provider: '',
    connector_id: '',
    method: request.method ?? '',
    path: toLoggedPath(withoutQuery(request.url ?? '')),
    decision: 'reject',
    code: null,
    rule: null,
    status: null,
    ended: null,
    request_bytes: 0,
    response_bytes: 0,
    ms: 0,
    input_tokens: null,
    output_tokens: null,
  };
}
