// The OAuth clients of sign-on: the extension providers, as far as sign-on knows them.
import type { Secret } from '../../core/secret.ts';

export interface SignOnClient {
  readonly name: string;
  readonly client_id: string;
  readonly base_url: string;
  /** Compared character by character. */
  readonly redirect_uris: readonly string[];
}

export interface SignOnClients {
  findByClientId(client_id: string): Promise<SignOnClient | undefined>;
  /** Compares in constant time. */
  checkClientSecret(client: Pick<SignOnClient, 'name'>, given: Secret): Promise<boolean>;
}
