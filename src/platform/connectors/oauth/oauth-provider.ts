// A provider at which this platform can authorize: its settings for OAuth, and the client that the operator registered there.
import { refuseField } from '../../../core/refuse-field.ts';
import type { Catalogue } from '../../catalogue/catalogue.ts';
import type { CatalogueEntry, OAuthSettings } from '../../catalogue/catalogue-entry.ts';
import type { OAuthClient } from './oauth-client.ts';

export interface OAuthProvider {
  readonly entry: CatalogueEntry;
  readonly settings: OAuthSettings;
  readonly client: OAuthClient;
}

export interface OAuthProvidersDeps {
  readonly catalogue: Catalogue;
  readonly clients: ReadonlyMap<string, OAuthClient>;
}

/** Throws `invalid_request` naming the field for a provider without OAuth, or one where this platform is no client. */
export function findOAuthProvider(deps: OAuthProvidersDeps, provider: string): OAuthProvider {
  const entry = deps.catalogue.find(provider);
  if (entry?.oauth === undefined) throw refuseField('path.provider', 'there is no connector by OAuth for it here');
  const client = deps.clients.get(provider);
  if (client === undefined) {
    throw refuseField(
      'path.provider',
      `this platform is no OAuth client of ${entry.display_name}; its operator can change that`,
    );
  }
  return { entry, settings: entry.oauth, client };
}
