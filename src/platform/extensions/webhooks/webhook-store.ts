// The webhooks that came, each once (Extensions API, Webhooks from the provider to the platform). What was applied is kept for as long as it
// could be sent again; what was not is kept for people to look at.
import type { z } from 'zod';
import { type recordedWebhook, type WebhookOutcome, webhookOutcome } from '../../../contract/extension-records.ts';
import { toDateTime } from '../../../core/clock.ts';
import type { Sql } from '../../storage/storage.ts';

export interface NewWebhook {
  readonly provider: string;
  /** The hash of what was signed. */
  readonly digest: Buffer;
  readonly received_at: number;
  /** When it was sent by the clock of the provider, in Unix milliseconds. */
  readonly told_at: number;
  readonly action: string;
  readonly resource_id: string;
}

export interface WebhookStore {
  /** False for one that came before. */
  insert(webhook: NewWebhook, outcome: WebhookOutcome, extension_id: string | null): Promise<boolean>;
  setCreated(webhook: NewWebhook, extension_id: string): Promise<void>;
  /** The newest first. */
  list(provider: string, limit: number): Promise<readonly z.infer<typeof recordedWebhook>[]>;
  /** Deletes what is older than it needs to be, and all but the newest of what is kept to be looked at. */
  prune(provider: string, now_ms: number): Promise<void>;
}

/** Twice the window of timestamps. */
const APPLIED_KEPT_MS = 660_000;
const SHOWN_KEPT_MS = 7 * 86_400_000;
const SHOWN_KEPT_MAX = 1_000;

interface Stored extends Omit<NewWebhook, 'digest' | 'provider'> {
  readonly extension_id: string | null;
  readonly outcome: string;
}

export function createWebhookStore(sql: Sql): WebhookStore {
  return {
    async insert({ provider, digest, received_at, told_at, action, resource_id }, outcome, extension_id) {
      const text = `INSERT INTO extension_webhooks
          (provider, digest, received_at, told_at, action, resource_id, outcome, extension_id)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING`;
      const values = [provider, digest, received_at, told_at, action, resource_id, outcome, extension_id];
      return (await sql.run(text, values)) > 0;
    },
    async setCreated({ provider, digest }, extension_id) {
      const text = `UPDATE extension_webhooks SET outcome = 'created', extension_id = $3 WHERE provider = $1 AND digest = $2`;
      await sql.run(text, [provider, digest, extension_id]);
    },
    async list(provider, limit) {
      const text = `SELECT received_at, told_at, action, resource_id, extension_id, outcome FROM extension_webhooks
        WHERE provider = $1 ORDER BY received_at DESC LIMIT $2`;
      return (await sql.all<Stored>(text, [provider, limit])).map((stored) => ({
        received_at: toDateTime(stored.received_at),
        timestamp: toDateTime(stored.told_at),
        action: stored.action,
        resource_id: stored.resource_id,
        extension: stored.extension_id,
        outcome: webhookOutcome.safeParse(stored.outcome).data ?? 'refused',
      }));
    },
    async prune(provider, now_ms) {
      const old = 'DELETE FROM extension_webhooks WHERE provider = $1 AND received_at < $2';
      await sql.run(`${old} AND outcome IN ('applied', 'created')`, [provider, now_ms - APPLIED_KEPT_MS]);
      await sql.run(old, [provider, now_ms - SHOWN_KEPT_MS]);
      const kept = `SELECT received_at FROM extension_webhooks WHERE provider = $1
        AND outcome NOT IN ('applied', 'created') ORDER BY received_at DESC LIMIT 1 OFFSET ${SHOWN_KEPT_MAX}`;
      const last = (await sql.one<{ readonly received_at: number }>(kept, [provider]))?.received_at;
      // One that could be sent again is never forgotten.
      if (last !== undefined) await sql.run(old, [provider, Math.min(last, now_ms - APPLIED_KEPT_MS)]);
    },
  };
}
