// What a call would get if it used a credential now, decided without asking the provider. Pure.
import { RemoraError } from '../../core/remora-error.ts';
import type { ConnectorRow } from './records/connector-store.ts';
import type { Credential } from './records/credential.ts';
import { judgeToken } from './records/token-term.ts';

export interface OutlookOptions {
  readonly row: Pick<ConnectorRow, 'token_expires_at' | 'token_lifetime_ms' | 'authorization_ended_at'>;
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
  const token = judgeToken(row, now_ms);
  if (credential.type !== 'oauth' || token === 'good') return 'use';
  if (row.authorization_ended_at !== null || credential.refresh_token === undefined) {
    if (token === 'due') return 'use';
    return new RemoraError('authorization_ended', 'the provider has ended the authorization; authorize it again');
  }
  if (isClient) return 'renew';
  return token === 'due'
    ? 'use'
    : new RemoraError('not_configured', 'this platform is no OAuth client of the provider');
}
