// Renews the authorization of a connector at its provider before it ends. Each connector has one renewal at a time, in all processes on
// the database; a call that waited for a renewal uses its result.
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { CatalogueEntry } from '../catalogue/catalogue-entry.ts';
import type { Storage } from '../storage/storage.ts';
import type { Vault } from '../vault/vault.ts';
import type { OAuthClient } from './oauth/oauth-client.ts';
import { toGrantedScopes } from './oauth/scopes.ts';
import { RefusedByProvider, type TokenEndpoint } from './oauth/token-endpoint.ts';
import type { ReadCredential } from './read-credential.ts';
import { toConnectorPlace } from './records/connector-place.ts';
import type { ConnectorRow, ConnectorStore, CredentialChange } from './records/connector-store.ts';
import { type Credential, toStoredCredential } from './records/credential.ts';
import { judgeToken, toTokenTerm } from './records/token-term.ts';

export interface Renewals {
  /** Whether the authorization is about to end, and the provider could be asked when it was asked last. */
  isDue(row: ConnectorRow): boolean;
  /** Resolves with the row whose token is to be used. Throws what `Credentials.open` throws. */
  renew(row: ConnectorRow, entry: CatalogueEntry): Promise<ConnectorRow>;
}

export interface RenewalsDeps {
  readonly storage: Pick<Storage, 'exclusively'>;
  readonly connectors: ConnectorStore;
  readonly vault: Pick<Vault, 'close'>;
  readonly read: ReadCredential;
  readonly clients: ReadonlyMap<string, OAuthClient>;
  readonly endpoint: TokenEndpoint;
  readonly clock: Clock;
  readonly log: Pick<Log, 'info' | 'error'>;
  readonly onRefresh?: (outcome: RefreshOutcome) => void;
}

export type RefreshOutcome = 'renewed' | 'lost_race' | 'refused' | 'failed';

/** How long no renewal is tried after the provider could not be asked, while the present token is still good. */
const PAUSE_MS = 5_000;

export function createRenewals(deps: RenewalsDeps): Renewals {
  const { connectors, vault, read, clock } = deps;
  const renewals = new Map<string, Promise<ConnectorRow>>();
  const pausedUntil = new Map<string, number>();

  /** False when another credential was stored meanwhile. A policy or vault key that changed meanwhile is kept. */
  async function store(
    row: ConnectorRow,
    credential: Credential,
    change: Omit<CredentialChange, 'closed'>,
  ): Promise<boolean> {
    const secret = toStoredCredential(credential);
    let current = row;
    while (current.credential_version === row.credential_version) {
      // Throws for an altered row: a new seal would make its alterations count.
      read(current);
      const closed = vault.close(toConnectorPlace(current), secret);
      if (await connectors.setCredential(current, { ...change, closed }, clock.wall_ms())) return true;
      current = await again(row);
    }
    return false;
  }

  const isUsable = (row: ConnectorRow) => judgeToken(row, clock.wall_ms()) !== 'over';
  const isDue = (row: ConnectorRow) => judgeToken(row, clock.wall_ms()) !== 'good';

  async function again(row: ConnectorRow): Promise<ConnectorRow> {
    const found = await connectors.find(row.organization_id, row.id);
    if (found === undefined) throw new RemoraError('unknown_connector', 'the connector was deleted');
    return found;
  }

  /** Resolves with the row whose token is to be used. */
  async function renew(given: ConnectorRow, entry: CatalogueEntry): Promise<ConnectorRow> {
    const row = await again(given);
    if (!isDue(row)) return row;
    // Another call renewed the token while this one waited for its turn. It is used even when it ends soon: this provider gives short ones.
    if (row.credential_version !== given.credential_version && isUsable(row)) return row;
    const client = deps.clients.get(row.provider);
    const credential = read(row);
    if (row.authorization_ended_at !== null || credential.type !== 'oauth' || credential.refresh_token === undefined) {
      return orEnded(row, clock.wall_ms());
    }
    if (client === undefined || entry.oauth === undefined) {
      if (isUsable(row)) return row;
      throw new RemoraError(
        'not_configured',
        `this platform is no OAuth client of ${entry.display_name}; its operator can change that`,
      );
    }
    try {
      const tokens = await deps.endpoint.refresh(entry, entry.oauth, client, credential.refresh_token);
      const refresh_token = tokens.refresh_token ?? credential.refresh_token;
      const change = {
        scopes: toGrantedScopes(tokens.scope, row.scopes ?? '') || null,
        ...toTokenTerm(tokens.expires_in_s, clock.wall_ms()),
      };
      const renewed = { type: 'oauth', access_token: tokens.access_token, refresh_token } as const;
      deps.onRefresh?.((await store(row, renewed, change)) ? 'renewed' : 'lost_race');
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
      return orEnded(row, clock.wall_ms());
    }
    deps.onRefresh?.('failed');
    deps.log.error({ err: error, connector: row.id, provider: row.provider }, 'an authorization could not be renewed');
    if (!isUsable(row)) {
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
    if (until > clock.mono_ms() && isUsable(row)) return true;
    pausedUntil.delete(row.id);
    return false;
  }

  return {
    isDue: (row) => row.connection_type === 'oauth' && isDue(row) && !isPaused(row),
    renew: renewOnce,
  };
}

/** The row, whose authorization is renewed no more, while its token can still be used; throws `authorization_ended` after that. */
function orEnded(row: ConnectorRow, now_ms: number): ConnectorRow {
  if (judgeToken(row, now_ms) !== 'over') return row;
  throw new RemoraError(
    'authorization_ended',
    'the provider has ended the authorization of this connector; authorize it again',
  );
}
