// How long an access token is good, and when it is time to renew it. Pure.
import type { ConnectorRow } from './connector-store.ts';

export type TokenTerm = Pick<ConnectorRow, 'token_expires_at' | 'token_lifetime_ms'>;

/** How long before its end a token is renewed, so that a call in flight does not outlive its token. */
const MARGIN_MS = 60_000;
/** A short-lived token is renewed in its last quarter instead: with the whole margin it would be renewed for each call. */
const PART = 4;
/** The cap for a provider that sends a meaningless large number: about thirty years. */
const LIFETIME_MAX_MS = 1e12;

/** `expires_in_s` is undefined for a token that does not end. */
export function toTokenTerm(expires_in_s: number | undefined, now_ms: number): TokenTerm {
  if (expires_in_s === undefined) return { token_expires_at: null, token_lifetime_ms: null };
  const token_lifetime_ms = Math.round(Math.min(Math.max(0, expires_in_s * 1_000), LIFETIME_MAX_MS));
  return { token_expires_at: now_ms + token_lifetime_ms, token_lifetime_ms };
}

/** `good`: no renewal is needed. `due`: still good, and renewed first if possible. `over`: it has ended. */
export function judgeToken(
  { token_expires_at, token_lifetime_ms }: TokenTerm,
  now_ms: number,
): 'good' | 'due' | 'over' {
  if (token_expires_at === null) return 'good';
  const left_ms = token_expires_at - now_ms;
  const margin_ms = token_lifetime_ms === null ? MARGIN_MS : Math.min(MARGIN_MS, token_lifetime_ms / PART);
  if (left_ms > margin_ms) return 'good';
  return left_ms > 0 ? 'due' : 'over';
}
