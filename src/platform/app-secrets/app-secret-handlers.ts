// The operations with which people list, set and delete the secrets of their apps.
import type { appSecretOperations } from '../../contract/app-secrets.ts';
import { Secret } from '../../core/secret.ts';
import type { Handlers } from '../../http/handler.ts';
import type { AppService } from '../apps/app-service.ts';
import { toAppTurn } from '../apps/app-turn.ts';
import type { Sql, Storage } from '../storage/storage.ts';
import { organizationOf, type Principal } from '../tokens/principal.ts';
import type { AppSecrets } from './app-secrets.ts';

export interface AppSecretHandlersDeps {
  readonly storage: Pick<Storage, 'transaction'>;
  readonly apps: Pick<AppService, 'find'>;
  readonly secrets: AppSecrets;
}

const owner = { kind: 'operator' } as const;

export function createAppSecretHandlers(deps: AppSecretHandlersDeps): Handlers<typeof appSecretOperations, Principal> {
  const { storage, apps, secrets } = deps;

  /** Throws `not_found` for an app that is not one of the caller's. */
  async function change<T>(
    principal: Principal,
    name: string,
    work: (sql: Sql, app: OwnApp) => Promise<T>,
  ): Promise<T> {
    const { name: app, organization_id } = await apps.find(organizationOf(principal), name);
    const done = await storage.transaction((sql) => work(sql, { app, organization_id }), toAppTurn(app));
    secrets.published(app);
    return done;
  }

  return {
    async listAppSecrets({ principal, params }) {
      const { name } = await apps.find(organizationOf(principal), params.app_name);
      return { secrets: [...(await secrets.list(name))] };
    },
    setAppSecret: ({ principal, params, body }) =>
      change(principal, params.app_name, (sql, app) =>
        secrets.set(sql, { ...app, owner }, params.name, new Secret(body.value)),
      ),
    async deleteAppSecret({ principal, params }) {
      await change(principal, params.app_name, (sql, { app }) => secrets.remove(sql, { app, owner }, params.name));
    },
  };
}

interface OwnApp {
  readonly app: string;
  readonly organization_id: string;
}
