// The OAuth clients of sign-on: the extension providers, as far as sign-on knows them.
import type { Secret } from '../../core/secret.ts';

export interface SignOnClient {
  readonly name: string;
  readonly client_id: string;
  readonly base_url: string;
  /** Compared character by character. */
  readonly redirect_uris: readonly string[];
  /** It is the platform itself: people who are signed in are sent back without consent. */
  readonly isOwn?: true;
}

export interface SignOnClients {
  /** `redirect_uri`: the address that the request names, by which a client with addresses of many names is found. */
  findByClientId(client_id: string, redirect_uri?: string): Promise<SignOnClient | undefined>;
  /** Compares in constant time. */
  checkClientSecret(client: Pick<SignOnClient, 'name'>, given: Secret): Promise<boolean>;
}
