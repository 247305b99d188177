// Making and changing connectors: checks what the contract cannot check, closes the credential, and publishes the change.
import { createHmac } from 'node:crypto';
import type { AccessPolicyRequest } from '../../contract/access-policy.ts';
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import { refuseField } from '../../core/refuse-field.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { Secret } from '../../core/secret.ts';
import { randomHex } from '../../core/urandom.ts';
import type { Catalogue } from '../catalogue/catalogue.ts';
import type { CatalogueEntry } from '../catalogue/catalogue-entry.ts';
import type { Changes } from '../changes.ts';
import { askProvider } from '../upstream/provider-account.ts';
import type { ProviderFetch } from '../upstream/provider-fetch.ts';
import type { Vault } from '../vault/vault.ts';
import { parseBaseApiUrl } from './base-api-url.ts';
import { toConnectorPlace } from './records/connector-place.ts';
import type { ConnectorRow, ConnectorStore } from './records/connector-store.ts';

export interface NewApiKeyConnector {
  readonly name?: string | undefined;
  readonly provider: string;
  readonly api_key: string;
  readonly base_api_url?: string | undefined;
  readonly access_policy?: AccessPolicyRequest | undefined;
  /** Chosen by the operator; generated when absent. */
  readonly id?: string | undefined;
  readonly user_id?: string | null | undefined;
}

export interface ConnectorService {
  /** Asks the provider whether it takes the key, where it can be asked. Throws `invalid_request` naming the field. */
  verify(connector: NewApiKeyConnector): Promise<void>;
  /** Throws `invalid_request` naming the field, `already_exists` for a taken id. */
  create(organization_id: string, connector: NewApiKeyConnector): Promise<ConnectorRow>;
  /** Throws `not_found`, also for a connector of another organization. */
  find(organization_id: string, id: string): Promise<ConnectorRow>;
  list(organization_id: string, provider?: string): Promise<readonly ConnectorRow[]>;
  /** Null takes the name away. Throws `not_found`, and `already_exists` when another connector has it. */
  setName(organization_id: string, id: string, name: string | null): Promise<ConnectorRow>;
  /** Throws `not_found`, `record_altered` when the record is not as it was left, `conflict` when others keep changing it. */
  setPolicy(organization_id: string, id: string, policy: AccessPolicyRequest): Promise<ConnectorRow>;
  /** Deletes the connector, then ends its credential at the provider. A failure there is logged. */
  delete(organization_id: string, id: string): Promise<void>;
}

export interface ConnectorServiceDeps {
  /** Gets `connector_changed` after each change. */
  readonly changes: Pick<Changes, 'publish'>;
  readonly connectors: ConnectorStore;
  readonly catalogue: Catalogue;
  readonly vault: Vault;
  readonly clock: Clock;
  /** The one for addresses that users give, or the one for those of the catalogue. */
  readonly fetchFor: (entry: CatalogueEntry) => ProviderFetch;
  readonly revoke: (entry: CatalogueEntry, row: ConnectorRow) => Promise<boolean>;
  readonly log: Log;
}

/** How often a change is tried when other writers keep changing the row first. */
const ATTEMPTS = 8;
/** What can stand in a header: anything else would end up as another header, or nowhere. */
const CREDENTIAL = /^[\x21-\x7e]+$/;
const PATH_CREDENTIAL = /^[A-Za-z0-9:_~-]+$/;
const CONNECTOR_ID = /^[A-Za-z0-9_-]{1,64}$/;

export function createConnectorService(deps: ConnectorServiceDeps): ConnectorService {
  const { connectors, catalogue, vault, clock } = deps;

  async function find(organization_id: string, id: string): Promise<ConnectorRow> {
    const row = await connectors.find(organization_id, id);
    if (row === undefined) throw notFound();
    return row;
  }

  function notifyChanged(id: string): void {
    deps.changes.publish({ type: 'connector_changed', connector_id: id });
  }

  function check(given: NewApiKeyConnector): { entry: CatalogueEntry; base_api_url: string | null } {
    const entry = catalogue.find(given.provider);
    if (entry === undefined) throw refuse('provider', `there is no provider ${JSON.stringify(given.provider)} here`);
    if (!entry.api_key) throw refuse('provider', `${entry.display_name} takes no API key; authorize it by OAuth`);
    const base_api_url = parseBaseApiUrl(entry, given.base_api_url);
    if (!CREDENTIAL.test(given.api_key)) throw refuse('api_key', 'it may hold visible ASCII only, and no spaces');
    if (entry.injection.in === 'path' && !PATH_CREDENTIAL.test(given.api_key)) {
      throw refuse('api_key', `a key of ${entry.provider} stands in the path and cannot hold these characters`);
    }
    const { key_format } = entry;
    if (key_format !== undefined && !new RegExp(key_format.pattern).test(given.api_key)) {
      throw refuse('api_key', key_format.hint);
    }
    return { entry, base_api_url };
  }

  return {
    async verify(given) {
      const { entry, base_api_url } = check(given);
      const address = entry.address.type === 'fixed' ? entry.address.url : base_api_url;
      if (entry.verify_path === undefined || address === null) return;
      const credential = { secret: new Secret(given.api_key), injection: entry.injection };
      const { status } = await askProvider(deps.fetchFor(entry), entry, address, credential, entry.verify_path);
      if (status === 401 || status === 403)
        throw refuse('api_key', `${entry.display_name} does not take it (${status})`);
    },
    async create(organization_id, given) {
      const { entry, base_api_url } = check(given);
      const id = given.id ?? `conn_${randomHex(10)}`;
      if (!CONNECTOR_ID.test(id)) throw refuse('id', 'expected up to 64 letters, digits, dashes and underscores');
      const row = {
        id,
        organization_id,
        provider: entry.provider,
        provider_account_id: toAccountId(vault.derive('account id'), given.provider, given.api_key),
        connection_type: 'api_key',
        base_api_url,
        user_id: given.user_id ?? null,
        name: given.name ?? null,
        access_policy: given.access_policy === undefined ? null : JSON.stringify(given.access_policy),
      } as const;
      const closed = vault.close(toConnectorPlace(row), new Secret(given.api_key));
      if (!(await connectors.insert({ ...row, closed }, clock.wall_ms()))) {
        throw new RemoraError(
          'already_exists',
          given.name === undefined ? `the id ${id} is taken` : `the name ${given.name}, or the id, is taken`,
        );
      }
      notifyChanged(id);
      return await find(organization_id, id);
    },
    find,
    list: (organization_id, provider) => connectors.list(organization_id, provider),
    async setName(organization_id, id, name) {
      await find(organization_id, id);
      if (!(await connectors.setName(organization_id, id, name, clock.wall_ms()))) {
        throw new RemoraError('already_exists', `another connector is called ${name}`);
      }
      notifyChanged(id);
      return await find(organization_id, id);
    },
    async setPolicy(organization_id, id, policy) {
      const access_policy = JSON.stringify(policy);
      for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
        const row = await find(organization_id, id);
        const closed = vault.rewrap(toConnectorPlace(row), row.closed, toConnectorPlace({ ...row, access_policy }));
        // `open` throws the error that says why the row cannot be closed again.
        if (closed === undefined) vault.open(toConnectorPlace(row), row.closed);
        else if (await connectors.setPolicy(row, { access_policy, closed }, clock.wall_ms())) {
          notifyChanged(id);
          return await find(organization_id, id);
        }
      }
      throw new RemoraError('conflict', 'the connector is being changed by other calls; try again');
    },
    async delete(organization_id, id) {
      const row = await find(organization_id, id);
      if (!(await connectors.delete(organization_id, id))) throw notFound();
      notifyChanged(id);
      const entry = catalogue.find(row.provider);
      if (entry === undefined) return;
      const where = { connector: id, provider: row.provider };
      try {
        if (await deps.revoke(entry, row)) deps.log.info(where, 'a credential was ended at its provider');
      } catch (error) {
        deps.log.error(
          { ...where, err: error },
          'the credential of a deleted connector may still be good at its provider',
        );
      }
    },
  };
}

/** The same key has the same account id, which tells nothing about the key. */
function toAccountId(key: Buffer, provider: string, api_key: string): string {
  const mac = createHmac('sha256', key).update(JSON.stringify([provider, api_key]));
  return `key_${mac.digest('hex').slice(0, 16)}`;
}

function refuse(name: string, message: string): RemoraError {
  return refuseField(`body.${name}`, message);
}

function notFound(): RemoraError {
  return new RemoraError('not_found', 'there is no such connector');
}
