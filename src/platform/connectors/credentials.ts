// The credential of a connector for one call: opened, and renewed first when it is about to end.
import type { Secret } from '../../core/secret.ts';
import type { CatalogueEntry, Injection } from '../catalogue/catalogue-entry.ts';
import type { Vault } from '../vault/vault.ts';
import { createReadCredential } from './read-credential.ts';
import type { ConnectorRow } from './records/connector-store.ts';
import type { Credential } from './records/credential.ts';
import { createRenewals, type RenewalsDeps } from './renewals.ts';

export interface OpenedCredential {
  /** Whether the call waited for a renewal: the policy that allowed the call may have changed meanwhile. */
  readonly renewed: boolean;
  readonly secret: Secret;
  readonly injection: Injection;
}

export interface Credentials {
  /**
   * Comes at once unless it is renewed. Throws or rejects with `authorization_ended` when the provider renews no more and what there was has expired, `upstream_failed` or
   * `upstream_timeout` when it could not be asked, `record_altered` or `internal` when the row cannot be used.
   */
  open(row: ConnectorRow, entry: CatalogueEntry): OpenedCredential | Promise<OpenedCredential>;
  /** Opens the stored credential without renewing it. Throws `record_altered` when the row is not the one that it was closed for, or `internal`. */
  read(row: ConnectorRow): Credential;
}

export interface CredentialsDeps extends Omit<RenewalsDeps, 'read'> {
  readonly vault: Vault;
}

export function createCredentials(deps: CredentialsDeps): Credentials {
  const read = createReadCredential(deps.vault, deps.log);
  const renewals = createRenewals({ ...deps, read });

  function toOpened(row: ConnectorRow, entry: CatalogueEntry, renewed: boolean): OpenedCredential {
    const credential = read(row);
    switch (credential.type) {
      case 'oauth':
        return { secret: credential.access_token, injection: entry.oauth?.injection ?? entry.injection, renewed };
      case 'api_key':
      case 'provisioned':
        return { secret: credential.api_key, injection: entry.injection, renewed };
      default:
        return credential satisfies never;
    }
  }

  return {
    read,
    open(row, entry) {
      if (!renewals.isDue(row)) return toOpened(row, entry, false);
      return renewals.renew(row, entry).then((renewed) => toOpened(renewed, entry, true));
    },
  };
}
