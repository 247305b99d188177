// Connectors with a key that the platform makes and owns (Sandbox API, ProvisionConnectionRequest).
import type { Clock } from '../../../core/clock.ts';
import { refuseField } from '../../../core/refuse-field.ts';
import { RemoraError } from '../../../core/remora-error.ts';
import type { Secret } from '../../../core/secret.ts';
import { randomHex } from '../../../core/urandom.ts';
import type { Catalogue } from '../../catalogue/catalogue.ts';
import type { ProviderFetch } from '../../upstream/provider-fetch.ts';
import type { Vault } from '../../vault/vault.ts';
import type { ConnectorOwner } from '../records/connector-owner.ts';
import { toConnectorPlace } from '../records/connector-place.ts';
import type { ConnectorRow, ConnectorStore } from '../records/connector-store.ts';
import { toStoredCredential } from '../records/credential.ts';
import { openRouterProvisioner } from './openrouter.ts';
import type { Provisioner, ProvisionerCall } from './provisioner.ts';

export interface ProvisionService {
  /** Makes a connector without a policy, so that no sprite may use it yet. Throws `invalid_request` naming the field. */
  provision(owner: ConnectorOwner, provider: string): Promise<ConnectorRow>;
  /** Throws when the key may still be good. */
  revoke(provider: string, reference: string): Promise<void>;
}

export interface ProvisionServiceDeps {
  readonly connectors: ConnectorStore;
  readonly catalogue: Catalogue;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly fetch: ProviderFetch;
  /** The key with which the platform makes keys at a provider, by provider. */
  readonly managementKeys: ReadonlyMap<string, Secret>;
}

const provisioners: Readonly<Record<string, Provisioner>> = { openrouter: openRouterProvisioner };

export function createProvisionService(deps: ProvisionServiceDeps): ProvisionService {
  function find(provider: string): { provisioner: Provisioner; call: ProvisionerCall } | undefined {
    const provisioner = Object.hasOwn(provisioners, provider) ? provisioners[provider] : undefined;
    const entry = deps.catalogue.find(provider);
    const management_key = deps.managementKeys.get(provider);
    if (provisioner === undefined || entry === undefined || management_key === undefined) return undefined;
    return { provisioner, call: { fetch: deps.fetch, entry, management_key } };
  }

  return {
    async provision({ organization_id, user_id }, provider) {
      const found = find(provider);
      if (found === undefined) throw refuseField('body.provider', 'this platform makes no keys of this provider');
      const { provisioner, call } = found;
      const id = `conn_${randomHex(10)}`;
      const { api_key, reference } = await provisioner.create(call, `remora ${id}`);
      const type = 'provisioned';
      const where = {
        id,
        organization_id,
        provider,
        connection_type: type,
        base_api_url: null,
        access_policy: null,
      } as const;
      const closed = deps.vault.close(toConnectorPlace(where), toStoredCredential({ type, api_key, reference }));
      try {
        const row = { ...where, provider_account_id: reference, user_id, closed };
        const isNew = await deps.connectors.insert(row, deps.clock.wall_ms());
        if (!isNew) throw new Error('the id is taken');
      } catch (error) {
        await provisioner.revoke(call, reference);
        throw error;
      }
      const stored = await deps.connectors.find(organization_id, id);
      if (stored === undefined) throw new RemoraError('not_found', 'the connector was deleted');
      return stored;
    },
    async revoke(provider, reference) {
      const found = find(provider);
      if (found === undefined) throw new RemoraError('not_configured', `there is no key to manage keys of ${provider}`);
      await found.provisioner.revoke(found.call, reference);
    },
  };
}
