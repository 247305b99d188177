// Takes a webhook: once for each signature, in one transaction with what it does.
import { createHash } from 'node:crypto';
import type { ExtensionWebhook } from '../../../contract/extension-webhooks.ts';
import type { Clock } from '../../../core/clock.ts';
import type { Log } from '../../../core/log.ts';
import { createOrganizationStore } from '../../organizations/organization-store.ts';
import type { Sql, Storage } from '../../storage/storage.ts';
import { createUserStore } from '../../users/user-store.ts';
import { EXTENSIONS_MAX } from '../create-extension.ts';
import type { ExtensionRow } from '../extension-row.ts';
import type { ExtensionSecrets } from '../extension-secrets.ts';
import { createExtensionStore } from '../extension-store.ts';
import { toNewRow } from '../new-row.ts';
import { toFitText } from '../provider-words.ts';
import { idle } from '../settle-step.ts';
import { applyWebhook, type ToldWebhook } from './apply-webhook.ts';
import { createWebhookStore, type NewWebhook } from './webhook-store.ts';

export interface TakeWebhookDeps {
  readonly storage: Storage;
  readonly secrets: ExtensionSecrets;
  /** Whether a user of the organization has consented to sign on at the provider. */
  readonly hasConsent: (sql: Sql, provider: string, organization_id: string) => Promise<boolean>;
  readonly clock: Clock;
  readonly log: Log;
}

/** `signed`: what the signature is of. Resolves when everything is stored; whether the worker should look for what is due. */
export type TakeWebhook = (provider: string, webhook: ExtensionWebhook, signed: Uint8Array) => Promise<boolean>;

const PRUNE_EVERY = 256;
const ID_SHOWN = 255;
const NAME_MAX = 128;

export function createTakeWebhook(deps: TakeWebhookDeps): TakeWebhook {
  const { storage, secrets, clock, log } = deps;
  let count = 0;

  async function applyTo(sql: Sql, found: ExtensionRow, told: ToldWebhook): Promise<'applied' | 'stale'> {
    const store = createExtensionStore(sql);
    const row = await store.lock(found.id);
    const change = row === undefined ? undefined : applyWebhook(row, told);
    if (row === undefined || change === undefined) return 'stale';
    if (change.state === 'deleted') await secrets.detach(sql, row);
    await store.update(row.id, change, told.now_ms);
    return 'applied';
  }

  /** The id of the record that is made for a resource that was not asked for; undefined where that is not believed. */
  async function createUnrequested(sql: Sql, provider: string, told: ToldWebhook): Promise<string | undefined> {
    const { webhook, told_at, now_ms } = told;
    if (webhook.action !== 'resource.created') return undefined;
    const { resource } = webhook;
    const { organization_id, user_id } = resource;
    const store = createExtensionStore(sql);
    const organization = await createOrganizationStore(sql).find(organization_id);
    const users = createUserStore(sql);
    const [user, role] = [await users.find(user_id), await users.roleIn(organization_id, user_id)];
    if (organization === undefined || user === undefined || role === undefined) return undefined;
    const isKnown =
      (await store.countOf(provider, organization_id)) > 0 || (await deps.hasConsent(sql, provider, organization_id));
    if (!isKnown || (await store.count(organization_id)) >= EXTENSIONS_MAX || !/^[\x21-\x7e]{1,255}$/.test(resource.id))
      return undefined;
    const given = toFitText(resource.name ?? '', NAME_MAX);
    const isTaken = given === '' || given.startsWith('ext_') || (await store.findByName(given)) !== undefined;
    const fresh = toNewRow(now_ms, {
      organization_id,
      provider,
      name: given,
      app: null,
      user_id: user.id,
      user_email: user.email_alias,
      user_role: role,
      primary_region: null,
      read_regions: [],
    });
    const name = isTaken ? fresh.id.replace('_', '-') : given;
    const row = { ...fresh, ...idle, name, provider_id: resource.id, unrequested: true, asked: true } as const;
    const change = applyWebhook({ ...row, state: 'ready' }, { webhook, told_at, now_ms });
    const made = { ...row, ...change, state: 'ready' as const };
    return (await store.insert(made)) ? made.id : undefined;
  }

  /** A creation that was asked for, and whose answer has not come yet, is known by its name. */
  async function find(
    sql: Sql,
    provider: string,
    { webhook: { resource } }: ToldWebhook,
  ): Promise<ExtensionRow | undefined> {
    const store = createExtensionStore(sql);
    const found = await store.findAtProvider(provider, resource.id);
    if (found !== undefined || resource.name === undefined) return found;
    const named = await store.findByName(resource.name);
    const isAwaited = named?.provider === provider && named.provider_id === null && named.step === 'provision';
    return isAwaited && named.organization_id === resource.organization_id ? named : undefined;
  }

  return async (provider, webhook, signed) => {
    const told_at = Number(webhook.timestamp) * 1_000;
    const now_ms = clock.wall_ms();
    const told = { webhook, told_at, now_ms };
    const resource_id = toFitText(webhook.resource.id, ID_SHOWN);
    const digest = createHash('sha256').update(signed).digest();
    const recorded: NewWebhook = {
      provider,
      digest,
      received_at: now_ms,
      told_at,
      action: webhook.action,
      resource_id,
    };
    count += 1;
    const isDue = count % PRUNE_EVERY === 1;
    const taken = await storage.transaction(async (sql) => {
      const webhooks = createWebhookStore(sql);
      if (!(await webhooks.insert(recorded))) return undefined;
      if (isDue) await webhooks.prune(provider, now_ms);
      const found = await find(sql, provider, told);
      if (found !== undefined) {
        const outcome = await applyTo(sql, found, told);
        await webhooks.setOutcome(recorded, outcome, found.id);
        return { outcome, found };
      }
      const made = await createUnrequested(sql, provider, told);
      const outcome = made !== undefined ? 'created' : webhook.action === 'resource.created' ? 'refused' : 'unknown';
      await webhooks.setOutcome(recorded, outcome, made ?? null);
      return { outcome, found: undefined };
    }, `webhooks of ${provider}`);
    if (taken === undefined) return false;
    const { outcome, found } = taken;
    if (found !== undefined && webhook.action === 'resource.deleted') secrets.published(found.app);
    const where = { provider, action: webhook.action, resource: resource_id, outcome };
    if (outcome === 'unknown')
      log.warn(where, 'a provider told of a resource that is not known here; nothing was changed');
    else if (outcome === 'refused') log.warn(where, 'a provider told of a resource that nobody here has asked for');
    return outcome === 'applied';
  };
}
