// The variables of an extension and the app that gets them: attached with the change that brings them, in one transaction.
import { RemoraError } from '../../core/remora-error.ts';
import type { Secret } from '../../core/secret.ts';
import type { AppSecrets } from '../app-secrets/app-secrets.ts';
import type { Sql } from '../storage/storage.ts';
import type { Vault } from '../vault/vault.ts';
import { closeConfig, openConfig } from './extension-config.ts';
import type { ExtensionRow } from './extension-row.ts';
import type { ExtensionChange } from './extension-store.ts';

type Home = Pick<ExtensionRow, 'id' | 'organization_id' | 'provider' | 'app'>;

export interface ExtensionSecrets {
  /** The fields that keep the variables. */
  close(row: Home, config: ReadonlyMap<string, Secret>): Pick<ExtensionChange, 'config' | 'variables'>;
  /**
   * Makes `config` what the extension has set in its app; nothing without an app. Returns the refusal for names that somebody else has
   * set, or of too many: nothing is written then.
   */
  attach(sql: Sql, row: Home, config: ReadonlyMap<string, Secret>): Promise<RemoraError | undefined>;
  /** The same with the variables that are kept. */
  attachKept(sql: Sql, row: ExtensionRow): Promise<RemoraError | undefined>;
  detach(sql: Sql, row: Pick<ExtensionRow, 'id'>): Promise<void>;
  /** Call it after the commit. */
  published(app: string | null): void;
}

export interface ExtensionSecretsDeps {
  readonly vault: Pick<Vault, 'close' | 'open'>;
  readonly appSecrets: Pick<AppSecrets, 'attach' | 'detach' | 'published'>;
}

export function createExtensionSecretKeeper({ vault, appSecrets }: ExtensionSecretsDeps): ExtensionSecrets {
  async function attach(sql: Sql, row: Home, config: ReadonlyMap<string, Secret>): Promise<RemoraError | undefined> {
    const { id, organization_id, app } = row;
    if (app === null) return undefined;
    try {
      await appSecrets.attach(sql, { organization_id, app, owner: { kind: 'extension', id } }, config);
      return undefined;
    } catch (error) {
      if (!(error instanceof RemoraError) || !REFUSALS.includes(error.code)) throw error;
      return error;
    }
  }

  return {
    close: (row, config) => ({ config: closeConfig(vault, row, config), variables: [...config.keys()].sort() }),
    attach,
    async attachKept(sql, row) {
      if (row.config === null || row.app === null) return undefined;
      return await attach(sql, row, openConfig(vault, row, row.config));
    },
    detach: (sql, { id }) => appSecrets.detach(sql, { kind: 'extension', id }),
    published: (app) => {
      if (app !== null) appSecrets.published(app);
    },
  };
}

const REFUSALS: readonly string[] = ['secret_conflict', 'limit_reached'];
