// Keeps the credentials of providers at rest. Envelope encryption: each secret has a data key of its own, which is closed with
// one of the vault's keys, so that a change of vault key touches 61 bytes a row. Every part is bound to its row.
import { hkdfSync } from 'node:crypto';
import { RemoraError } from '../../core/remora-error.ts';
import { Secret } from '../../core/secret.ts';
import { randomBytes } from '../../core/urandom.ts';
import { IV_BYTES, seal, unseal } from './sealed.ts';
import { parseVaultKey, VAULT_KEY_ID, type VaultKey } from './vault-key.ts';

const DATA_KEY_BYTES = 32;

/** What a row stores: which vault key, the data key closed with it, and the secret closed with the data key. */
export interface ClosedSecret {
  readonly key_id: string;
  readonly data_key: Buffer;
  readonly secret: Buffer;
}

/** Where a secret belongs. A closed secret that is moved to another row or organization does not open. */
export interface SecretPlace {
  readonly organization_id: string;
  readonly connector_id: string;
}

export interface Vault {
  close(place: SecretPlace, secret: Secret): ClosedSecret;
  /** Throws `internal` when the row was changed or moved, or its key is gone. */
  open(place: SecretPlace, closed: ClosedSecret): Secret;
  /** The same with the data key closed by the current key; undefined when it does not open. The secret stays closed. */
  rewrap(place: SecretPlace, closed: ClosedSecret): ClosedSecret | undefined;
  /** The key that closes. */
  readonly currentKeyId: string;
  /** Every key that was given. */
  readonly keyIds: readonly string[];
  /** 32 bytes for another purpose (signing page tokens), derived from the current key. */
  derive(purpose: string): Buffer;
  has(key_id: string): boolean;
}

/** The first key closes, all of them open. Throws `not_configured` when there is none or one cannot be read. */
export function createVault(keys: readonly Secret[]): Vault {
  const parsed = keys.map(parseVaultKey);
  const current = parsed[0];
  if (current === undefined) {
    throw new RemoraError(
      'not_configured',
      'the platform does not start without a vault key: credentials are never stored in the clear',
    );
  }
  const byId = new Map<string, VaultKey>(parsed.map((key) => [key.id, key]));
  const closeDataKey = (place: SecretPlace, dataKey: Buffer) =>
    seal(current.bytes, randomBytes(IV_BYTES), `${toPlaceName(place, current.id)}/data_key`, dataKey);
  return {
    currentKeyId: current.id,
    keyIds: [...byId.keys()],
    rewrap(place, closed) {
      const key = byId.get(closed.key_id);
      if (key === undefined) return undefined;
      const dataKey = unseal(key.bytes, `${toPlaceName(place, key.id)}/data_key`, closed.data_key);
      if (dataKey === undefined) return undefined;
      return { key_id: current.id, data_key: closeDataKey(place, dataKey), secret: closed.secret };
    },
    close(place, secret) {
      const dataKey = randomBytes(DATA_KEY_BYTES);
      return {
        key_id: current.id,
        data_key: closeDataKey(place, dataKey),
        secret: seal(
          dataKey,
          randomBytes(IV_BYTES),
          `${toPlaceName(place)}/secret`,
          Buffer.from(secret.reveal(), 'utf8'),
        ),
      };
    },
    open(place, closed) {
      const key = byId.get(closed.key_id);
      if (key === undefined) throw unreadable(place, `the vault key ${closed.key_id} was not given`);
      const dataKey = unseal(key.bytes, `${toPlaceName(place, key.id)}/data_key`, closed.data_key);
      if (dataKey === undefined) throw unreadable(place, 'its data key does not open');
      const secret = unseal(dataKey, `${toPlaceName(place)}/secret`, closed.secret);
      if (secret === undefined) throw unreadable(place, 'its secret does not open');
      return new Secret(secret.toString('utf8'));
    },
    derive: (purpose) => Buffer.from(hkdfSync('sha256', current.bytes, Buffer.alloc(0), `remora ${purpose}`, 32)),
    has: (key_id) => byId.has(key_id),
  };
}

/** Throws `not_configured` naming every key that stored secrets need and that was not given. */
export function checkKeysInUse(vault: Vault, key_ids: readonly string[]): void {
  // An id that no key can have is damage to its row, and only that one's trouble.
  const missing = key_ids.filter((key_id) => VAULT_KEY_ID.test(key_id) && !vault.has(key_id));
  if (missing.length === 0) return;
  throw new RemoraError(
    'not_configured',
    `stored credentials need the vault key ${missing.join(', ')}, which was not given; add it after the current key`,
  );
}

function toPlaceName(place: SecretPlace, key_id?: string): string {
  return JSON.stringify([place.organization_id, place.connector_id, key_id ?? null]);
}

function unreadable(place: SecretPlace, reason: string): RemoraError {
  return new RemoraError('internal', `the credential of connector ${place.connector_id} cannot be read`, {
    cause: new Error(reason),
  });
}
