// One key of the vault: 32 bytes given as text, and the id by which a stored secret names the key that closed it.
import { createHash } from 'node:crypto';
import { RemoraError } from '../../core/remora-error.ts';
import type { Secret } from '../../core/secret.ts';

export interface VaultKey {
  /** Eight hex digits derived from the key: the same key has the same id everywhere. Tells nothing about the key. */
  readonly id: string;
  readonly bytes: Buffer;
}

/** What the id of every key looks like. */
export const VAULT_KEY_ID = /^[0-9a-f]{8}$/;

const KEY_BYTES = 32;

/** Reads 64 hex digits, or 32 bytes as base64 or base64url. Throws `not_configured` without repeating the text. */
export function parseVaultKey(secret: Secret): VaultKey {
  const text = secret.reveal().trim();
  const bytes = /^[0-9a-fA-F]{64}$/.test(text) ? Buffer.from(text, 'hex') : parseBase64(text);
  if (bytes?.length !== KEY_BYTES) {
    throw new RemoraError(
      'not_configured',
      'a vault key must be 32 bytes, written as 64 hex digits or as base64; make one with: openssl rand -hex 32',
    );
  }
  const id = createHash('sha256').update('remora vault key id\0').update(bytes).digest('hex').slice(0, 8);
  return { id, bytes };
}

function parseBase64(text: string): Buffer | undefined {
  return /^[A-Za-z0-9+/_-]{43}=?$/.test(text) ? Buffer.from(text, 'base64url') : undefined;
}
