// This platform as a client of a provider: what its operator got when registering it there.
import type { Secret } from '../../core/secret.ts';

export interface OAuthClient {
  readonly provider: string;
  readonly client_id: string;
  readonly client_secret: Secret;
  /** Taken besides the platform's own callback, compared letter by letter. */
  readonly redirect_uris: readonly string[];
}
