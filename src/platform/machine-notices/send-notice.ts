// Sends one notice to its provider: a CloudEvent in binary mode, signed like every request (Extensions API, Webhooks from the platform to
// the provider).
import type { CloudEventHeaders } from '../../contract/extension-webhooks.ts';
import { toDateTime } from '../../core/clock.ts';
import type { ExtensionProvider } from '../extension-providers/extension-provider.ts';
import type { SignedCall } from '../provider-calls/signed-call.ts';
import type { WaitingNotice } from './notice-store.ts';

export interface FailedNotice {
  /** What went wrong, for the operator. */
  readonly error: string;
  /** How long the provider wants not to be asked. */
  readonly retryAfter_ms?: number | undefined;
}

export const EVENTS_PATH = '/extensions/events';
const DEADLINE_MS = 10_000;
const ERROR_LENGTH_MAX = 200;

/** Undefined when the provider has taken it: it answered with any status from 200 to 299. Never rejects. */
export async function sendNotice(
  call: SignedCall,
  provider: ExtensionProvider,
  notice: WaitingNotice,
  signal: AbortSignal,
): Promise<FailedNotice | undefined> {
  try {
    const { status, retryAfter_ms } = await call(provider, {
      method: 'POST',
      path: EVENTS_PATH,
      body: JSON.parse(notice.body) as Readonly<Record<string, unknown>>,
      headers: { ...toHeaders(notice) },
      deadline_ms: DEADLINE_MS,
      keepsConnection: true,
      signal,
    });
    return status >= 200 && status < 300 ? undefined : { error: `it answered ${status}`, retryAfter_ms };
  } catch (error) {
    return { error: (error instanceof Error ? error.message : String(error)).slice(0, ERROR_LENGTH_MAX) };
  }
}

/** Ids, sources and types are made of characters that a header may hold as they are. */
function toHeaders({ event_id, source, type, created_at }: WaitingNotice): CloudEventHeaders {
  return {
    'ce-specversion': '1.0',
    'ce-id': event_id,
    'ce-source': source,
    'ce-type': type,
    'ce-time': toDateTime(created_at),
  };
}
