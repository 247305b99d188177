// What a webhook does to the extension that it is about: it is newer than what is known, or it is only recorded. Pure.
import type { ExtensionWebhook } from '../../../contract/extension-webhooks.ts';
import type { ExtensionRow } from '../extension-row.ts';
import type { ExtensionChange } from '../extension-store.ts';
import { toKnownResource } from '../read-answers.ts';
import { idle, PROVISIONING, toReady, untroubled } from '../settle-step.ts';

export interface ToldWebhook {
  readonly webhook: ExtensionWebhook;
  /** Unix milliseconds, of whole seconds. */
  readonly told_at: number;
  readonly now_ms: number;
}

/** How far the time of a webhook may lie from now, either way. */
export const WEBHOOK_WINDOW_MS = 300_000;

/** Undefined for one that is older than what is known. What is known of the future came before the clock was set back. */
export function applyWebhook(
  row: ExtensionRow,
  { webhook, told_at, now_ms }: ToldWebhook,
): ExtensionChange | undefined {
  const isOlder = told_at < row.told_at && row.told_at <= now_ms + WEBHOOK_WINDOW_MS;
  if (row.state === 'deleted' || isOlder) return undefined;
  const heard = { told_at, heard_at: now_ms };
  if (webhook.action === 'resource.deleted') {
    return { ...heard, ...idle, ...untroubled, state: 'deleted', config: null, variables: [], resource: null };
  }
  const { status = row.status, plan = row.plan, resource } = toKnownResource(webhook.resource);
  const facts = { ...heard, status, plan, resource };
  const isReady = row.state === 'provisioning' && row.step === 'read' && status !== null && status !== PROVISIONING;
  return isReady ? { ...facts, ...toReady(row, now_ms) } : facts;
}
