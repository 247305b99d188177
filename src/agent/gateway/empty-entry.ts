// The record of a call of which nothing is known yet but its request line. Pure.
import type { IncomingMessage } from 'node:http';
import { withoutQuery } from '../../core/without-query.ts';
import type { AuditEntry } from './audit-request.ts';

export function toEmptyEntry(request: Pick<IncomingMessage, 'method' | 'url'>): AuditEntry {
  return {
    provider: '',
    connector_id: '',
    method: request.method ?? '',
    path: withoutQuery(request.url ?? ''),
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
