// Making and changing connectors: what the contract cannot check, the credential into the vault, and telling the gateway.
import { createHmac } from 'node:crypto';
import type { AccessPolicyRequest } from '../../contract/access-policy.ts';
import type { Clock } from '../../core/clock.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { Secret } from '../../core/secret.ts';
import { randomHex } from '../../core/urandom.ts';
import type { Catalogue } from '../catalogue/catalogue.ts';
import type { Vault } from '../vault/vault.ts';
import { parseBaseApiUrl } from './base-api-url.ts';
import type { ConnectorRow, ConnectorStore } from './connector-store.ts';

export interface NewApiKeyConnector {
  readonly provider: string;
  readonly api_key: string;
  readonly base_api_url?: string | undefined;
  readonly access_policy?: AccessPolicyRequest | undefined;
  /** Chosen by the operator; made up when absent. */
  readonly id?: string | undefined;
}

export interface ConnectorService {
  /** Throws `invalid_request` naming the field, `already_exists` for a taken id. */
  create(organization_id: string, connector: NewApiKeyConnector): ConnectorRow;
  /** Throws `not_found`, also for a connector of another organization. */
  find(organization_id: string, id: string): ConnectorRow;
  list(organization_id: string, provider?: string): readonly ConnectorRow[];
  setPolicy(organization_id: string, id: string, policy: AccessPolicyRequest): ConnectorRow;
  delete(organization_id: string, id: string): void;
  /** Runs after a policy has changed or a connector is gone. */
  onChange(listener: (id: string) => void): void;
}

export interface ConnectorServiceDeps {
  readonly connectors: ConnectorStore;
  readonly catalogue: Catalogue;
  readonly vault: Vault;
  readonly clock: Clock;
}

/** What can stand in a header: anything else would end up as another header, or nowhere. */
const CREDENTIAL = /^[\x21-\x7e]+$/;
const PATH_CREDENTIAL = /^[A-Za-z0-9:_~-]+$/;
const CONNECTOR_ID = /^[A-Za-z0-9_-]{1,64}$/;

export function createConnectorService(deps: ConnectorServiceDeps): ConnectorService {
  const { connectors, catalogue, vault, clock } = deps;
  const accountKey = vault.derive('account id');
  const listeners: ((id: string) => void)[] = [];

  function find(organization_id: string, id: string): ConnectorRow {
    const row = connectors.find(organization_id, id);
    if (row === undefined) throw notFound();
    return row;
  }

  function tell(id: string): void {
    for (const listener of listeners) listener(id);
  }

  return {
    create(organization_id, given) {
      const entry = catalogue.find(given.provider);
      if (entry === undefined) throw refuse('provider', `there is no provider ${JSON.stringify(given.provider)} here`);
      if (!CREDENTIAL.test(given.api_key)) throw refuse('api_key', 'it may hold visible ASCII only, and no spaces');
      if (entry.injection.in === 'path' && !PATH_CREDENTIAL.test(given.api_key)) {
        throw refuse('api_key', `a key of ${entry.provider} stands in the path and cannot hold these characters`);
      }
      const base_api_url = parseBaseApiUrl(entry, given.base_api_url);
      const id = given.id ?? `conn_${randomHex(10)}`;
      if (!CONNECTOR_ID.test(id)) throw refuse('id', 'expected up to 64 letters, digits, dashes and underscores');
      const row = {
        id,
        organization_id,
        provider: entry.provider,
        provider_account_id: toAccountId(accountKey, given.provider, given.api_key),
        connection_type: 'api_key',
        base_api_url,
        access_policy: given.access_policy === undefined ? null : JSON.stringify(given.access_policy),
        closed: vault.close({ organization_id, connector_id: id }, new Secret(given.api_key)),
      } as const;
      if (!connectors.insert(row, clock.wall_ms())) throw new RemoraError('already_exists', `the id ${id} is taken`);
      return find(organization_id, id);
    },
    find,
    list: (organization_id, provider) => connectors.list(organization_id, provider),
    setPolicy(organization_id, id, policy) {
      if (!connectors.setPolicy(organization_id, id, JSON.stringify(policy), clock.wall_ms())) throw notFound();
      tell(id);
      return find(organization_id, id);
    },
    delete(organization_id, id) {
      if (!connectors.delete(organization_id, id)) throw notFound();
      tell(id);
    },
    onChange(listener) {
      listeners.push(listener);
    },
  };
}

/** The same key has the same account id, which tells nothing about the key. */
function toAccountId(key: Buffer, provider: string, api_key: string): string {
  const mac = createHmac('sha256', key).update(JSON.stringify([provider, api_key]));
  return `key_${mac.digest('hex').slice(0, 16)}`;
}

function refuse(name: string, message: string): RemoraError {
  const field = `body.${name}`;
  return new RemoraError('invalid_request', `${field}: ${message}`, { details: { fields: [{ field, message }] } });
}

function notFound(): RemoraError {
  return new RemoraError('not_found', 'there is no such connector');
}
