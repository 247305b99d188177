// What would become of a credential if it were used now, without asking anybody. Pure.
import { RemoraError } from '../../core/remora-error.ts';
import type { ConnectorRow } from './connector-store.ts';
import type { Credential } from './credential.ts';

/** Renewed so long before its end, so that a call that is under way does not outlive its token. */
export const RENEWAL_MARGIN_MS = 60_000;

export interface OutlookOptions {
  readonly row: Pick<ConnectorRow, 'token_expires_at' | 'authorization_ended_at'>;
  readonly credential: Credential;
  /** Whether this platform is an OAuth client of the provider. */
  readonly isClient: boolean;
  readonly now_ms: number;
}

/** `renew`: the provider would be asked for another token first. An error: what a call would get. */
export function toCredentialOutlook({
  row,
  credential,
  isClient,
  now_ms,
}: OutlookOptions): 'use' | 'renew' | RemoraError {
  const { token_expires_at } = row;
  const isGood = (margin_ms: number) => token_expires_at === null || token_expires_at > now_ms + margin_ms;
  if (credential.type !== 'oauth' || isGood(RENEWAL_MARGIN_MS)) return 'use';
  if (row.authorization_ended_at !== null || credential.refresh_token === undefined) {
    if (isGood(0)) return 'use';
    return new RemoraError('authorization_ended', 'the provider has ended the authorization; authorize it again');
  }
  if (isClient) return 'renew';
  return isGood(0) ? 'use' : new RemoraError('not_configured', 'this platform is no OAuth client of the provider');
}
