// Everything about connectors, wired: their store and credentials, OAuth, provisioned keys, and the two dispatchers to providers. The
// guarded one dials addresses that users give.
import type { Dispatcher } from 'undici';
import type { connectorOperations } from '../../contract/connectors.ts';
import type { oauthOperations } from '../../contract/oauth.ts';
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import type { Secret } from '../../core/secret.ts';
import type { Handlers } from '../../http/handler.ts';
import { joinAnswerChunks } from '../../http/join-answer-chunks.ts';
import { Agent, buildConnector } from '../../http/undici.ts';
import type { Catalogue } from '../catalogue/catalogue.ts';
import type { CatalogueEntry } from '../catalogue/catalogue-entry.ts';
import type { Changes } from '../changes.ts';
import type { Storage } from '../storage/storage.ts';
import type { Principal } from '../tokens/principal.ts';
import { createGuardedConnector, type Resolve, resolveBySystem } from '../upstream/guarded-connector.ts';
import { createProviderDispatch } from '../upstream/provider-dispatch.ts';
import { createProviderFetch } from '../upstream/provider-fetch.ts';
import type { Vault } from '../vault/vault.ts';
import { createConnectorHandlers } from './connector-handlers.ts';
import { toConnectionRecord } from './connector-record.ts';
import { type ConnectorService, createConnectorService } from './connector-service.ts';
import { type Credentials, createCredentials } from './credentials.ts';
import type { OAuthClient } from './oauth/oauth-client.ts';
import { createOAuthHandlers } from './oauth/oauth-handlers.ts';
import { createOAuthService } from './oauth/oauth-service.ts';
import { createStateStore } from './oauth/state-store.ts';
import { createTokenEndpoint } from './oauth/token-endpoint.ts';
import { createProvisionService } from './provisioning/provision-service.ts';
import type { ConnectorRow, ConnectorStore } from './records/connector-store.ts';
import type { RefreshOutcome } from './renewals.ts';
import { revokeCredential } from './revoke-credential.ts';

export interface ConnectorsDeps {
  readonly storage: Storage;
  readonly connectors: ConnectorStore;
  readonly catalogue: Catalogue;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly changes: Pick<Changes, 'publish'>;
  readonly platformUrl: () => string;
  readonly oauthClients: readonly OAuthClient[];
  /** The key with which the platform makes keys at a provider, by provider. */
  readonly managementKeys: ReadonlyMap<string, Secret>;
  readonly verifyKeys: boolean;
  readonly resolve?: Resolve | undefined;
  readonly onRefresh: (outcome: RefreshOutcome) => void;
  readonly log: Log;
}

export interface Connectors extends AsyncDisposable {
  readonly service: ConnectorService;
  readonly credentials: Credentials;
  readonly handlers: Handlers<typeof connectorOperations & typeof oauthOperations, Principal>;
  /** What calls of the gateway go out by: the guarded one where users give the address. */
  readonly dispatcherFor: (entry: CatalogueEntry) => Pick<Dispatcher, 'dispatch'>;
}

const CONNECT_TIMEOUT_MS = 10_000;

export function createConnectors(deps: ConnectorsDeps): Connectors {
  const { storage, connectors, catalogue, vault, clock, changes, platformUrl, log, managementKeys } = deps;
  const clients = new Map(deps.oauthClients.map((client) => [client.provider, client]));
  const plain = new Agent({ ...pool, connect: joinAnswerChunks(buildConnector({ timeout: CONNECT_TIMEOUT_MS })) });
  const resolve = deps.resolve ?? resolveBySystem;
  const guarded = new Agent({
    ...pool,
    connect: joinAnswerChunks(createGuardedConnector(CONNECT_TIMEOUT_MS, resolve)),
  });
  const isGuarded = (entry: CatalogueEntry) => entry.address.type === 'own' && !entry.allow_http;
  const { keepAliveTimeout: keepAlive_ms } = pool;
  const calls = createProviderDispatch({ rest: plain, connectTimeout_ms: CONNECT_TIMEOUT_MS, keepAlive_ms });

  const fetch = createProviderFetch(plain);
  const guardedFetch = createProviderFetch(guarded);
  const endpoint = createTokenEndpoint(fetch);
  const { onRefresh } = deps;
  const credentials = createCredentials({ storage, connectors, vault, clients, endpoint, clock, log, onRefresh });
  const provisioning = createProvisionService({ connectors, catalogue, vault, clock, fetch, managementKeys });
  const revokeDeps = { fetch, clients, revokeKey: provisioning.revoke };
  const service = createConnectorService({
    connectors,
    catalogue,
    vault,
    clock,
    changes,
    log,
    fetchFor: (entry) => (isGuarded(entry) ? guardedFetch : fetch),
    revoke: (entry, row) => revokeCredential(revokeDeps, entry, credentials.read(row)),
  });
  const states = createStateStore(storage);
  const oauth = createOAuthService({
    storage,
    states,
    connectors,
    findConnector: service.find,
    catalogue,
    clients,
    endpoint,
    fetch,
    vault,
    clock,
    changes,
    platformUrl,
  });
  const toResponse = (row: ConnectorRow) => ({
    connection: toConnectionRecord(row, catalogue.find(row.provider), platformUrl()),
  });
  return {
    service,
    credentials,
    dispatcherFor: (entry) => (isGuarded(entry) ? guarded : calls),
    handlers: {
      ...createConnectorHandlers({ service, toResponse, verifyKeys: deps.verifyKeys }),
      ...createOAuthHandlers({ oauth, provisioning, toResponse }),
    },
    async [Symbol.asyncDispose]() {
      calls.destroy(new Error('the platform ends'));
      await Promise.all([plain.destroy(), guarded.destroy()]);
    },
  };
}

/** HTTP/2 is off: it lower-cases names of headers, and the gateway passes headers on as they were written. */
const pool = { bodyTimeout: 0, keepAliveTimeout: 10_000, allowH2: false } as const;
