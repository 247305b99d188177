// What a caller does with extensions: each change is an intent in the database first, and is carried out from there.
import type { CreateExtensionRequest, UpdateExtensionRequest } from '../../contract/extension-records.ts';
import type { Clock } from '../../core/clock.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { toAppTurn } from '../apps/app-turn.ts';
import type { Organization } from '../organizations/organization-store.ts';
import type { Sql, Storage } from '../storage/storage.ts';
import { checkApp } from './check-app.ts';
import { createExtension } from './create-extension.ts';
import type { ExtensionRow } from './extension-row.ts';
import type { ExtensionSecrets } from './extension-secrets.ts';
import { createExtensionStore, type ExtensionChange, type ExtensionPosition } from './extension-store.ts';
import type { ProvisioningUser } from './provisioning-user.ts';
import { renameOrganization } from './rename-organization.ts';
import { idle, untroubled } from './settle-step.ts';

export interface ExtensionService {
  /** Throws `invalid_request` naming the field, `not_found`, `already_exists`, `limit_reached` and `not_implemented`. */
  create(organization: Organization, given: CreateExtensionRequest, user: ProvisioningUser): Promise<ExtensionRow>;
  /** `id`: the id or the name. Throws `not_found`, also for one of another organization. */
  find(organization: Organization, id: string): Promise<ExtensionRow>;
  /** Throws `not_found`, `invalid_request`, `invalid_state` and `secret_conflict`. */
  update(organization: Organization, id: string, change: UpdateExtensionRequest): Promise<ExtensionRow>;
  /** Throws `not_found`, `invalid_state` where nothing has failed, and `secret_conflict`. */
  retry(organization: Organization, id: string): Promise<ExtensionRow>;
  /** Throws `not_found`. */
  delete(organization: Organization, id: string): Promise<ExtensionRow>;
  /** Has the provider asked for the status of one that is ready. */
  refresh(row: ExtensionRow): Promise<void>;
  /** Whether the organization has extensions that are not being deleted. */
  hasSome(organization_id: string): Promise<boolean>;
  /** Deletes every extension of the organization; the providers are asked after the organization is gone too. */
  deleteAll(organization_id: string): Promise<void>;
  /** Has the providers told what the organization is called. */
  renamed(organization_id: string, display_name: string | null): Promise<void>;
}

export interface ExtensionServiceDeps {
  readonly storage: Storage;
  readonly secrets: ExtensionSecrets;
  /** Whether extensions can have private addresses. */
  readonly hasPrivateNetworks: boolean;
  /** Called when something is due; nothing where the platform does not run. */
  readonly look: () => void;
  readonly clock: Clock;
}

const DELETED_KEPT_MS = 90 * 86_400_000;
const BATCH = 100;

export function createExtensionService(deps: ExtensionServiceDeps): ExtensionService {
  const { storage, secrets, look, clock } = deps;

  async function find({ id: organization_id }: Pick<Organization, 'id'>, id: string): Promise<ExtensionRow> {
    const found = await createExtensionStore(storage).findOf(organization_id, id);
    if (found === undefined) throw notFound();
    return found;
  }

  /** Runs `decide` on the row, locked, in the turn of the app that is named; writes what it returns. */
  async function change(
    row: ExtensionRow,
    app: string | null,
    decide: (row: ExtensionRow, sql: Sql) => Promise<ExtensionChange>,
  ): Promise<ExtensionRow> {
    const turn = app === null ? `extension ${row.id}` : toAppTurn(app);
    const changed = await storage.transaction(async (sql) => {
      const store = createExtensionStore(sql);
      const now = await store.lock(row.id);
      if (now === undefined) throw notFound();
      await store.update(row.id, await decide(now, sql), clock.wall_ms());
      return (await store.find(row.id)) ?? now;
    }, turn);
    for (const each of new Set([row.app, changed.app])) secrets.published(each);
    look();
    return changed;
  }

  function remove(row: ExtensionRow): Promise<ExtensionRow> {
    return change(row, row.app, async (now, sql) => {
      const now_ms = clock.wall_ms();
      await secrets.detach(sql, now);
      await createExtensionStore(sql).forgetDeleted(now.organization_id, now_ms - DELETED_KEPT_MS);
      if (now.state === 'deleted' || now.state === 'deleting') return {};
      // The provider has never heard of it.
      if (!now.asked && now.provider_id === null) return { ...idle, ...untroubled, state: 'deleted' };
      // Where the answer was lost, the request is repeated, so that the resource is found by the id that the provider gave it.
      const step = now.provider_id === null ? ('provision' as const) : ('delete' as const);
      const begun = { due_at: now_ms, tries: 0, begun_at: now_ms, ...untroubled };
      return { state: 'deleting', step, ...begun, config: null, variables: [] };
    });
  }

  return {
    find,
    create: (organization, given, user) => createExtension(deps, organization, given, user),
    async update(organization, id, given) {
      const row = await find(organization, id);
      return await change(row, given.app ?? row.app, async (now, sql) => {
        if (now.state === 'deleting' || now.state === 'deleted') throw invalidState(now);
        const { app = now.app, primary_region = now.primary_region, read_regions = now.read_regions } = given;
        const isOther =
          app !== now.app || primary_region !== now.primary_region || read_regions.join() !== now.read_regions.join();
        if (!isOther) return {};
        if (app !== now.app) await moveTo(sql, organization, { ...now, app });
        return { app, primary_region, read_regions, ...toTold(now, clock.wall_ms()) };
      });
    },
    async retry(organization, id) {
      const row = await find(organization, id);
      return await change(row, row.app, async (now, sql) => {
        const now_ms = clock.wall_ms();
        const begun = { due_at: now_ms, tries: 0, begun_at: now_ms, ...untroubled };
        if (now.step !== null && now.state !== 'requested') return { due_at: now_ms };
        if (now.state === 'ready' && now.revision !== now.told_revision)
          return { ...begun, state: 'updating', step: 'update' };
        if (now.state !== 'failed') throw invalidState(now);
        if (now.config === null || now.provider_id === null)
          return { ...begun, state: 'provisioning', step: 'provision' };
        const refusal = await secrets.attachKept(sql, now);
        if (refusal !== undefined) throw refusal;
        return { ...begun, state: 'provisioning', step: 'read' };
      });
    },
    delete: async (organization, id) => await remove(await find(organization, id)),
    async refresh(row) {
      await change(row, null, async (now) =>
        now.state === 'ready' && now.step === null
          ? { step: 'read', due_at: clock.wall_ms(), tries: 0, begun_at: clock.wall_ms() }
          : {},
      );
    },
    hasSome: async (organization_id) => (await createExtensionStore(storage).countKept(organization_id)) > 0,
    async deleteAll(organization_id) {
      let after: ExtensionPosition | undefined;
      for (;;) {
        const rows = await createExtensionStore(storage).page({ organization_id, after, limit: BATCH });
        after = rows.at(-1);
        if (after === undefined) return;
        for (const row of rows) await remove(row);
      }
    },
    async renamed(organization_id, display_name) {
      await renameOrganization({ storage, clock }, organization_id, display_name);
      look();
    },
  };

  /** Throws `invalid_request` for the app, and `secret_conflict`. */
  async function moveTo(sql: Sql, organization: Organization, row: ExtensionRow): Promise<void> {
    if (row.app !== null) await checkApp(sql, organization, row.app);
    await secrets.detach(sql, row);
    if (row.state === 'failed') return;
    const refusal = await secrets.attachKept(sql, row);
    if (refusal !== undefined) throw refusal;
  }
}

/** Has the provider told of a change: now where it is ready, and else once it is. */
function toTold(row: ExtensionRow, now_ms: number): ExtensionChange {
  const revision = row.revision + 1;
  if (row.state !== 'ready') return { revision };
  return { revision, state: 'updating', step: 'update', due_at: now_ms, tries: 0, begun_at: now_ms, error: null };
}

function notFound(): RemoraError {
  return new RemoraError('not_found', 'there is no such extension');
}

function invalidState({ state }: ExtensionRow): RemoraError {
  return new RemoraError('invalid_state', `the extension is ${state}`, { details: { state } });
}
