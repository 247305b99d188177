// A lease for the caller of a token, from now on. Pure but for the nonce.
import { randomHex } from '../../core/urandom.ts';
import type { NewLease } from '../machines/records/machine-config-store.ts';
import type { TokenIdentity } from '../tokens/principal.ts';

const NONCE_BYTES = 8;

export function toLease(token: TokenIdentity, ttl_s: number, description: string, now_ms: number): NewLease {
  return {
    nonce: randomHex(NONCE_BYTES),
    owner: token.user_id ?? token.id,
    description,
    expires_at: now_ms + ttl_s * 1_000,
  };
}
