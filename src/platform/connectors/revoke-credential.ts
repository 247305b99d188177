// Ending a credential at its provider when its connector is deleted, as far as the provider lets us. An API key that a user brought
// is the user's to end.
import { RemoraError } from '../../core/remora-error.ts';
import type { CatalogueEntry } from '../catalogue/catalogue-entry.ts';
import type { ProviderFetch, ProviderRequest } from '../upstream/provider-fetch.ts';
import type { OAuthClient } from './oauth/oauth-client.ts';
import type { Credential } from './records/credential.ts';

export interface RevokeDeps {
  readonly fetch: ProviderFetch;
  readonly clients: ReadonlyMap<string, OAuthClient>;
  readonly revokeKey: (provider: string, reference: string) => Promise<void>;
}

/** Resolves with whether there was something to end. Throws when the credential may still be good. */
export async function revokeCredential(
  deps: RevokeDeps,
  entry: CatalogueEntry,
  credential: Credential,
): Promise<boolean> {
  switch (credential.type) {
    case 'api_key':
      return false;
    case 'provisioned':
      await deps.revokeKey(entry.provider, credential.reference);
      return true;
    case 'oauth': {
      const { revocation } = entry.oauth ?? {};
      const client = deps.clients.get(entry.provider);
      if (revocation === undefined || client === undefined) return false;
      // Ending the refresh token ends every access token that came from it.
      const token = (credential.refresh_token ?? credential.access_token).reveal();
      const access_token = credential.access_token.reveal();
      const request = toRequest(revocation.style, client, revocation.style === 'rfc7009' ? token : access_token);
      const url = revocation.url.replace('{client_id}', encodeURIComponent(client.client_id));
      const { status } = await deps.fetch(url, request);
      // A provider answers 404 or 422 when the token has already ended.
      if (status < 300 || status === 404 || status === 422) return true;
      throw new RemoraError('upstream_failed', `the provider answered ${status} to the end of a token`);
    }
    default:
      return credential satisfies never;
  }
}

function toRequest(style: 'rfc7009' | 'github' | 'bearer', client: OAuthClient, token: string): ProviderRequest {
  const { client_id, client_secret } = client;
  switch (style) {
    case 'rfc7009': {
      const form = new URLSearchParams({ token, client_id, client_secret: client_secret.reveal() });
      return {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: form.toString(),
      };
    }
    case 'github': {
      const basic = Buffer.from(`${client_id}:${client_secret.reveal()}`).toString('base64');
      const headers = { authorization: `Basic ${basic}`, 'content-type': 'application/json' };
      return { method: 'DELETE', headers, body: JSON.stringify({ access_token: token }) };
    }
    case 'bearer':
      return { method: 'POST', headers: { authorization: `Bearer ${token}` } };
    default:
      return style satisfies never;
  }
}
