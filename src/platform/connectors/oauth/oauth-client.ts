// This platform as an OAuth client of a provider: the id and the secret that its operator got by registering it there.
import type { Secret } from '../../../core/secret.ts';

export interface OAuthClient {
  readonly provider: string;
  readonly client_id: string;
  readonly client_secret: Secret;
  /** Redirect URIs that are accepted besides the platform's own callback, compared letter by letter. */
  readonly redirect_uris: readonly string[];
}
