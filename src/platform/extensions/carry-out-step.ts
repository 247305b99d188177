// One try of one step of an extension: claims it, asks the provider, and records what came of it in one transaction.
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import { createAppStore } from '../apps/app-store.ts';
import { toAppTurn } from '../apps/app-turn.ts';
import type { ExtensionProvider } from '../extension-providers/extension-provider.ts';
import type { ExtensionProviders } from '../extension-providers/extension-providers.ts';
import type { OrganizationStore } from '../organizations/organization-store.ts';
import type { Sql, Storage } from '../storage/storage.ts';
import type { UserStore } from '../users/user-store.ts';
import type { AddressOf } from './address-of.ts';
import type { AskProvider } from './ask-provider.ts';
import type { ExtensionClaims } from './extension-claims.ts';
import type { ExtensionRow } from './extension-row.ts';
import type { ExtensionSecrets } from './extension-secrets.ts';
import { createExtensionStore, type ExtensionChange } from './extension-store.ts';
import type { ProvisionAnswer } from './read-answers.ts';
import { settleStep, toFailed } from './settle-step.ts';
import type { StepOutcome } from './step-outcome.ts';
import type { StepTimes } from './step-times.ts';
import { toParameters } from './to-parameters.ts';

export interface CarryOutStepDeps {
  readonly storage: Storage;
  readonly providers: Pick<ExtensionProviders, 'find'>;
  readonly organizations: Pick<OrganizationStore, 'find'>;
  readonly users: Pick<UserStore, 'roleIn' | 'organizationAlias'>;
  readonly ask: AskProvider;
  readonly claims: ExtensionClaims;
  readonly secrets: ExtensionSecrets;
  readonly times: StepTimes;
  readonly addressOf: AddressOf;
  readonly clock: Clock;
  readonly log: Log;
}

/** Resolves when the step was tried, or was not due. Throws the reason of `signal`, and what the storage throws. */
export type CarryOutStep = (id: string, signal: AbortSignal) => Promise<void>;

export function createCarryOutStep(deps: CarryOutStepDeps): CarryOutStep {
  const { storage, clock, times, secrets } = deps;

  /** Whose app may get the traffic of a private address is the provider's own. */
  async function checkApp(
    sql: Sql,
    provider: ExtensionProvider,
    name: string | undefined,
  ): Promise<string | undefined> {
    if (name === undefined || provider.organization_id === null) return undefined;
    const app = await createAppStore(sql).find(name);
    return app?.organization_id === provider.organization_id ? name : undefined;
  }

  /** What a provider may change besides; null for what cannot be taken over. */
  async function takeOver(sql: Sql, row: ExtensionRow, provider: ExtensionProvider, answer: Partial<ProvisionAnswer>) {
    const store = createExtensionStore(sql);
    const other =
      answer.provider_id === undefined ? undefined : await store.findAtProvider(row.provider, answer.provider_id);
    if (other !== undefined && other.id !== row.id) {
      const isOurs = other.unrequested && other.organization_id === row.organization_id && row.provider_id === null;
      if (!isOurs) return toFailed('invalid_answer', 'the provider gave the id of another extension', clock.wall_ms());
      // Its webhook came before its answer, and made a record of its own.
      await store.update(other.id, { state: 'deleted', step: null, due_at: null }, clock.wall_ms());
    }
    if (row.provider_id !== null && answer.provider_id !== undefined && answer.provider_id !== row.provider_id) {
      deps.log.warn(
        { extension: row.id, provider: row.provider },
        'a provider has changed the id of a resource; the first one is kept',
      );
    }
    const name = answer.name !== undefined && (await store.isFree(answer.name)) ? answer.name : undefined;
    const platform_app_name = await checkApp(sql, provider, answer.platform_app_name);
    if (answer.platform_app_name !== undefined && platform_app_name === undefined) {
      deps.log.warn({ extension: row.id, provider: row.provider }, 'a provider named an app that is not its own');
    }
    return {
      ...(name === undefined ? {} : { name }),
      ...(platform_app_name === undefined ? {} : { platform_app_name }),
    };
  }

  async function toChange(
    sql: Sql,
    row: ExtensionRow,
    claimed: ExtensionRow,
    provider: ExtensionProvider,
    outcome: StepOutcome,
  ) {
    const now_ms = clock.wall_ms();
    const settled = settleStep({ row, claimed, outcome, now_ms, times });
    if (outcome.type !== 'provisioned' && outcome.type !== 'updated') return settled;
    const { config } = outcome.answer;
    const released = { claim: null, claim_until: null };
    const more: ExtensionChange = await takeOver(sql, row, provider, outcome.answer);
    const isWanted = row.step === claimed.step && row.state !== 'deleting';
    // The id of another extension is never kept: a removal would remove that one.
    if (more.state === 'failed')
      return isWanted ? { ...more, ...released } : { ...settled, provider_id: row.provider_id };
    if (!isWanted) return settled;
    const { provider_id = row.provider_id } = outcome.answer;
    const whole = { ...settled, ...more, provider_id: row.provider_id ?? provider_id };
    if (config === undefined) return whole;
    const kept = { ...whole, ...secrets.close(row, config) };
    const refusal = await secrets.attach(sql, row, config);
    if (refusal === undefined) return kept;
    return { ...kept, ...toFailed(refusal.code, refusal.message, now_ms), ...released };
  }

  async function record(claimed: ExtensionRow, provider: ExtensionProvider, outcome: StepOutcome): Promise<void> {
    const app = (await createExtensionStore(storage).find(claimed.id))?.app ?? null;
    const turn = app === null ? `extension ${claimed.id}` : toAppTurn(app);
    let isFailed = false;
    await storage.transaction(async (sql) => {
      const store = createExtensionStore(sql);
      const row = await store.lock(claimed.id);
      // Its claim has ended, and somebody else has gone on.
      if (row === undefined || row.claim !== claimed.claim) return;
      const change = await toChange(sql, row, claimed, provider, outcome);
      // What failed gives nothing to its app: neither the new variables nor the earlier ones.
      if (change.state === 'failed') await secrets.detach(sql, row);
      await store.update(row.id, change, clock.wall_ms());
      isFailed = change.state === 'failed';
    }, turn);
    if (isFailed || outcome.type === 'provisioned' || outcome.type === 'updated') secrets.published(app);
  }

  return async (id, signal) => {
    const claimed = await deps.claims.claim(id, clock.wall_ms());
    if (claimed === undefined) return;
    const provider = await deps.providers.find(claimed.provider);
    // A row holds its provider in the database.
    if (provider === undefined) throw new Error(`the extension provider ${claimed.provider} is gone`);
    const outcome = await askFor(deps, claimed, provider, signal);
    const where = { extension: id, provider: provider.name, step: claimed.step, outcome: outcome.type };
    if (outcome.type === 'again' || outcome.type === 'refused') {
      deps.log.warn(
        { ...where, code: outcome.code, reason: outcome.message },
        'a provider did not do what it was asked',
      );
    } else deps.log.info(where, 'a provider was asked');
    await record(claimed, provider, outcome);
  };
}

type AskDeps = Pick<CarryOutStepDeps, 'ask' | 'organizations' | 'users' | 'addressOf'>;

async function askFor(
  { ask, organizations, users, addressOf }: AskDeps,
  row: ExtensionRow,
  provider: ExtensionProvider,
  signal: AbortSignal,
): Promise<StepOutcome> {
  if (row.step === 'read') return await ask.read(provider, row, signal);
  if (row.step === 'delete') return await ask.remove(provider, row, signal);
  const organization = await organizations.find(row.organization_id);
  if (organization === undefined)
    return { type: 'refused', code: 'no_organization', message: 'its organization is gone' };
  const known = row.user_id === null ? undefined : await users.roleIn(row.organization_id, row.user_id);
  const organization_name = organization.display_name ?? organization.slug;
  const organization_email = await users.organizationAlias(row.organization_id);
  const user_role = known ?? row.user_role;
  const ip_address = addressOf(row, provider);
  const parameters = toParameters({ row, provider, organization_name, organization_email, user_role, ip_address });
  if (row.step === 'update') return await ask.update(provider, row, parameters, signal);
  return await ask.provision(provider, parameters, signal);
}
