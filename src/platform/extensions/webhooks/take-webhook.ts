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
import { createWebhookBatches, type GivenWebhook, type Taken } from './webhook-batches.ts';
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
  let count = PRUNE_EVERY;

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
    const name = (await store.isFree(given)) ? given : fresh.id.replace('_', '-');
    const row = { ...fresh, ...idle, name, provider_id: resource.id, unrequested: true, asked: true } as const;
    const change = applyWebhook({ ...row, state: 'ready' }, { webhook, told_at, now_ms });
    const made = { ...row, ...change, state: 'ready' as const };
    return (await store.insert(made)) ? made.id : undefined;
  }

  /** Locked. A creation that was asked for, and whose answer has not come yet, is known by its name. */
  async function lock(sql: Sql, provider: string, { resource }: ExtensionWebhook): Promise<ExtensionRow | undefined> {
    const store = createExtensionStore(sql);
    const found = await store.lockAtProvider(provider, resource.id);
    if (found !== undefined || resource.name === undefined) return found;
    const named = await store.findByName(resource.name);
    const isAwaited = named?.provider === provider && named.provider_id === null && named.step === 'provision';
    return isAwaited && named.organization_id === resource.organization_id ? await store.lock(named.id) : undefined;
  }

  async function takeOne(sql: Sql, { webhook, recorded }: GivenWebhook): Promise<Taken | undefined> {
    const webhooks = createWebhookStore(sql);
    const { provider, told_at, received_at: now_ms } = recorded;
    const told = { webhook, told_at, now_ms };
    const row = await lock(sql, provider, webhook);
    if (row !== undefined) {
      const change = applyWebhook(row, told);
      const outcome = change === undefined ? 'stale' : 'applied';
      if (!(await webhooks.insert(recorded, outcome, row.id))) return undefined;
      if (change?.state === 'deleted') await secrets.detach(sql, row);
      if (change !== undefined) await createExtensionStore(sql).update(row.id, change, now_ms);
      return { outcome, app: change?.state === 'deleted' ? row.app : null };
    }
    const outcome = webhook.action === 'resource.created' ? 'refused' : 'unknown';
    if (!(await webhooks.insert(recorded, outcome, null))) return undefined;
    const made = await createUnrequested(sql, provider, told);
    if (made === undefined) return { outcome, app: null };
    await webhooks.setCreated(recorded, made);
    return { outcome: 'created', app: null };
  }

  async function takeAll(provider: string, given: readonly GivenWebhook[]): Promise<readonly (Taken | undefined)[]> {
    return await storage.transaction(async (sql) => {
      const taken: (Taken | undefined)[] = [];
      for (const each of given) taken.push(await takeOne(sql, each));
      count += given.length;
      if (count < PRUNE_EVERY) return taken;
      count = 0;
      await createWebhookStore(sql).prune(provider, clock.wall_ms());
      return taken;
    }, `webhooks of ${provider}`);
  }

  const take = createWebhookBatches(takeAll);
  return async (provider, webhook, signed) => {
    const resource_id = toFitText(webhook.resource.id, ID_SHOWN);
    const recorded: NewWebhook = {
      provider,
      digest: createHash('sha256').update(signed).digest(),
      received_at: clock.wall_ms(),
      told_at: Number(webhook.timestamp) * 1_000,
      action: webhook.action,
      resource_id,
    };
    const taken = await take(provider, { webhook, recorded });
    if (taken === undefined) return false;
    const { outcome, app } = taken;
    if (app !== null) secrets.published(app);
    const where = { provider, action: webhook.action, resource: resource_id, outcome };
    if (outcome === 'unknown')
      log.warn(where, 'a provider told of a resource that is not known here; nothing was changed');
    else if (outcome === 'refused') log.warn(where, 'a provider told of a resource that nobody here has asked for');
    return outcome === 'applied';
  };
}
