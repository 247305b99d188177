// What a provider must be able to do so that the platform can make keys of its own there.
import type { Secret } from '../../../core/secret.ts';
import type { CatalogueEntry } from '../../catalogue/catalogue-entry.ts';
import type { ProviderFetch } from '../../upstream/provider-fetch.ts';

export interface ProvisionedKey {
  readonly api_key: Secret;
  /** The provider's own name of the key; not a secret. */
  readonly reference: string;
}

export interface ProvisionerCall {
  readonly fetch: ProviderFetch;
  readonly entry: CatalogueEntry;
  /** The key that allows the platform to make other keys. */
  readonly management_key: Secret;
}

export interface Provisioner {
  /** `name` tells keys apart in the provider's own lists. Throws `upstream_failed` and what `ProviderFetch` throws. */
  create(call: ProvisionerCall, name: string): Promise<ProvisionedKey>;
  /** A key that is gone already counts as revoked. Throws as `create` does. */
  revoke(call: ProvisionerCall, reference: string): Promise<void>;
}
