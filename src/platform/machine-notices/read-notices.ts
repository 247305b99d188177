// What came of the notices of a provider, as the operator reads it.
import type { ExtensionNotices } from '../../contract/extension-providers.ts';
import { toDateTime } from '../../core/clock.ts';
import type { Sql } from '../storage/storage.ts';
import { createNoticeStore } from './notice-store.ts';

export async function readNotices(sql: Sql, provider: string, now_ms: number): Promise<ExtensionNotices> {
  const store = createNoticeStore(sql);
  const { paused_until, last_error_at, ...totals } = await store.totals(provider);
  return {
    waiting: await store.countWaiting(provider),
    ...totals,
    last_error_at: last_error_at === null ? null : toDateTime(last_error_at),
    paused_until: paused_until > now_ms ? toDateTime(paused_until) : null,
  };
}
