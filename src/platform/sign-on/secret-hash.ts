// Codes, tokens and sessions are random texts of which the database has the SHA-256 only.
import { createHash } from 'node:crypto';
import { Secret } from '../../core/secret.ts';
import { randomToken } from '../../core/urandom.ts';

const SECRET_BYTES = 32;

export function drawSecret(): Secret {
  return new Secret(randomToken(SECRET_BYTES));
}

export function toSecretHash(secret: Secret): string {
  return createHash('sha256').update(secret.reveal(), 'utf8').digest('hex');
}
