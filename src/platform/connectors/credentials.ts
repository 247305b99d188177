// The credential of a connector for one call: opened, and renewed first when it is about to end. One renewal at a time for each
// connector; whoever loses a race uses what the winner got, here and in another process on the same database.
import type { Clock } from '../../core/clock.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Secret } from '../../core/secret.ts';
import type { CatalogueEntry, Injection } from '../catalogue/catalogue-entry.ts';
import type { OAuthClient } from '../oauth/oauth-client.ts';
import { toGrantedScopes } from '../oauth/scopes.ts';
import { RefusedByProvider, type TokenEndpoint } from '../oauth/token-endpoint.ts';
import type { Storage } from '../storage/storage.ts';
import type { Vault } from '../vault/vault.ts';
import type { ConnectorRow, ConnectorStore } from './connector-store.ts';
import { type Credential, parseCredential, toStoredCredential } from './credential.ts';
import { RENEWAL_MARGIN_MS } from './credential-outlook.ts';

export interface OpenedCredential {
  /** Whether the call had to wait for it, so that what it was let in by may be another by now. */
  readonly renewed: boolean;
  readonly secret: Secret;
  readonly injection: Injection;
}

export interface Credentials {
  /**
   * Throws `authorization_ended` when the provider renews no more and what there was has expired, `upstream_failed` or
   * `upstream_timeout` when it could not be asked, `internal` when the row cannot be read.
   */
  open(row: ConnectorRow, entry: CatalogueEntry): Promise<OpenedCredential>;
  /** As it is stored. Throws `internal`. */
  read(row: ConnectorRow): Credential;
}

export interface CredentialsDeps {
  readonly storage: Pick<Storage, 'exclusively'>;
  readonly connectors: ConnectorStore;
  readonly vault: Vault;
  readonly clients: ReadonlyMap<string, OAuthClient>;
  readonly endpoint: TokenEndpoint;
  readonly clock: Clock;
  readonly log: { info(fields: object, message: string): void; error(fields: object, message: string): void };
  readonly onRefresh?: (outcome: RefreshOutcome) => void;
}

export type RefreshOutcome = 'renewed' | 'lost_race' | 'refused' | 'failed';

/** After a provider could not be asked, while the token is good. */
const PAUSE_MS = 5_000;

export function createCredentials(deps: CredentialsDeps): Credentials {
  const { connectors, vault, clock } = deps;
  const renewals = new Map<string, Promise<ConnectorRow>>();
  const pausedUntil = new Map<string, number>();

  function read(row: ConnectorRow): Credential {
    const place = { organization_id: row.organization_id, connector_id: row.id };
    return parseCredential(row.connection_type, vault.open(place, row.closed));
  }

  function isGood(row: ConnectorRow, margin_ms: number): boolean {
    return row.token_expires_at === null || row.token_expires_at > clock.wall_ms() + margin_ms;
  }

  async function again(row: ConnectorRow): Promise<ConnectorRow> {
    const found = await connectors.find(row.organization_id, row.id);
    if (found === undefined) throw new RemoraError('unknown_connector', 'the connector was deleted');
    return found;
  }

  /** Resolves with the row whose token is to be used. */
  async function renew(given: ConnectorRow, entry: CatalogueEntry): Promise<ConnectorRow> {
    const row = await again(given);
    if (isGood(row, RENEWAL_MARGIN_MS)) return row;
    const client = deps.clients.get(row.provider);
    const credential = read(row);
    if (row.authorization_ended_at !== null || credential.type !== 'oauth' || credential.refresh_token === undefined) {
      return orEnded(row);
    }
    if (client === undefined || entry.oauth === undefined) {
      if (isGood(row, 0)) return row;
      throw new RemoraError(
        'not_configured',
        `this platform is no OAuth client of ${entry.display_name}; its operator can change that`,
      );
    }
    try {
      const tokens = await deps.endpoint.refresh(entry, entry.oauth, client, credential.refresh_token);
      const now_ms = clock.wall_ms();
      const refresh_token = tokens.refresh_token ?? credential.refresh_token;
      const place = { organization_id: row.organization_id, connector_id: row.id };
      const stored = toStoredCredential({ type: 'oauth', access_token: tokens.access_token, refresh_token });
      const change = {
        closed: vault.close(place, stored),
        scopes: toGrantedScopes(tokens.scope, row.scopes ?? '') || null,
        token_expires_at: tokens.expires_in_s === undefined ? null : now_ms + tokens.expires_in_s * 1_000,
      };
      deps.onRefresh?.((await connectors.setCredential(row, change, now_ms)) ? 'renewed' : 'lost_race');
      return await again(row);
    } catch (error) {
      return await afterFailure(row, error);
    }
  }

  async function afterFailure(row: ConnectorRow, error: unknown): Promise<ConnectorRow> {
    const current = await again(row);
    if (current.credential_version !== row.credential_version) {
      deps.onRefresh?.('lost_race');
      return current;
    }
    if (error instanceof RefusedByProvider && error.code === 'invalid_grant') {
      deps.onRefresh?.('refused');
      await connectors.endAuthorization(row, clock.wall_ms());
      deps.log.info({ connector: row.id, provider: row.provider }, 'a provider ended an authorization');
      return orEnded(row);
    }
    deps.onRefresh?.('failed');
    deps.log.error({ err: error, connector: row.id, provider: row.provider }, 'an authorization could not be renewed');
    if (!isGood(row, 0)) {
      if (error instanceof RefusedByProvider) {
        throw new RemoraError('upstream_failed', `the authorization could not be renewed: ${error.message}`, {
          cause: error,
        });
      }
      throw error;
    }
    pausedUntil.set(row.id, clock.mono_ms() + PAUSE_MS);
    return row;
  }

  function orEnded(row: ConnectorRow): ConnectorRow {
    if (isGood(row, 0)) return row;
    throw new RemoraError(
      'authorization_ended',
      'the provider has ended the authorization of this connector; authorize it again',
    );
  }

  function renewOnce(row: ConnectorRow, entry: CatalogueEntry): Promise<ConnectorRow> {
    const running = renewals.get(row.id);
    if (running !== undefined) return running;
    const renewal = deps.storage
      .exclusively(`renewal of ${row.id}`, () => renew(row, entry))
      .finally(() => renewals.delete(row.id));
    renewals.set(row.id, renewal);
    return renewal;
  }

  function isPaused(row: ConnectorRow): boolean {
    const until = pausedUntil.get(row.id);
    if (until === undefined) return false;
    if (until > clock.mono_ms() && isGood(row, 0)) return true;
    pausedUntil.delete(row.id);
    return false;
  }

  return {
    read,
    async open(row, entry) {
      const renewed = row.connection_type === 'oauth' && !isGood(row, RENEWAL_MARGIN_MS) && !isPaused(row);
      const credential = read(renewed ? await renewOnce(row, entry) : row);
      switch (credential.type) {
        case 'oauth':
          return { secret: credential.access_token, injection: entry.oauth?.injection ?? entry.injection, renewed };
        case 'api_key':
        case 'provisioned':
          return { secret: credential.api_key, injection: entry.injection, renewed };
        default:
          return credential satisfies never;
      }
    },
  };
}
