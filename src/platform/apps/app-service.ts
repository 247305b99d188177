// Makes, finds and deletes apps, each for its own organization only.
import type { Clock } from '../../core/clock.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Organization } from '../organizations/organization-store.ts';
import type { Storage } from '../storage/storage.ts';
import { type AppRow, createAppStore } from './app-store.ts';
import { toAppTurn } from './app-turn.ts';

export interface AppService {
  /** Throws `already_exists` for a taken name, also of another organization, and `limit_reached`. */
  create(organization: Organization, name: string): Promise<AppRow>;
  /** Throws the same `not_found` for an app that does not exist and for one of another organization. */
  find(organization: Organization, name: string): Promise<AppRow>;
  /** Sorted by name. */
  list(organization: Organization): Promise<readonly AppRow[]>;
  /** Throws `not_found`, and `conflict` for the organization's own app and for one that has machines. */
  delete(organization: Organization, name: string): Promise<void>;
}

export interface AppServiceDeps {
  readonly storage: Storage;
  readonly clock: Clock;
}

/** A list has all apps in one answer, and names are scarce: they belong to the platform. */
const APPS_MAX = 1_000;

export function createAppService({ storage, clock }: AppServiceDeps): AppService {
  async function find(organization: Organization, name: string, from = createAppStore(storage)): Promise<AppRow> {
    const row = await from.find(name);
    if (row === undefined || row.organization_id !== organization.id) {
      throw new RemoraError('not_found', 'there is no such app');
    }
    return row;
  }

  return {
    find,
    list: (organization) => createAppStore(storage).list(organization.id),
    create: (organization, name) =>
      storage.transaction(async (sql) => {
        const inside = createAppStore(sql);
        const count = await inside.count(organization.id);
        if (count >= APPS_MAX) {
          throw new RemoraError('limit_reached', `the organization has ${count} apps already; delete one first`, {
            details: { limit: APPS_MAX },
          });
        }
        const created_at = clock.wall_ms();
        const row = { name, organization_id: organization.id, machines: 0, created_at };
        if (await inside.insert(row, created_at)) return row;
        const field = 'body.name';
        const message = `there is an app ${name} already`;
        throw new RemoraError('already_exists', `${field}: ${message}`, { details: { fields: [{ field, message }] } });
      }, `apps of ${organization.id}`),
    delete: (organization, name) =>
      storage.transaction(async (sql) => {
        const inside = createAppStore(sql);
        const { machines } = await find(organization, name, inside);
        if (name === organization.slug) {
          const message = 'this is the app of the organization itself, for sprites that name no other; it goes with it';
          throw new RemoraError('conflict', message);
        }
        if (machines > 0) {
          const message = `the app has ${machines === 1 ? 'a machine' : `${machines} machines`}; delete the sprites first`;
          throw new RemoraError('conflict', message, { details: { machines } });
        }
        const volumes = await inside.countVolumes(organization.id, name);
        if (volumes > 0) {
          const message = `the app has ${volumes === 1 ? 'a volume' : `${volumes} volumes`}; delete them first`;
          throw new RemoraError('conflict', message, { details: { volumes } });
        }
        await inside.delete(name);
      }, toAppTurn(name)),
  };
}
