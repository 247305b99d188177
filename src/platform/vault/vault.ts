// Keeps the credentials of providers at rest. To close or seal a value is to encrypt it, to open or unseal it is to decrypt it. Each
// secret is closed with a data key of its own, and the data key with one of the vault's keys (envelope encryption). So a change of
// vault key, or of what a secret is bound to, touches 61 bytes a row.
import { hkdfSync } from 'node:crypto';
import { RemoraError } from '../../core/remora-error.ts';
import { Secret } from '../../core/secret.ts';
import { randomBytes } from '../../core/urandom.ts';
import { IV_BYTES, type SealVersion, seal, unseal } from './sealed.ts';
import { type SecretPlace, toBoundPlace, toRowPlace, toSecretPlace } from './secret-place.ts';
import { parseVaultKey, VAULT_KEY_ID, type VaultKey } from './vault-key.ts';

const DATA_KEY_BYTES = 32;
const SECRET_VERSION: SealVersion = 1;
/** The seal version of data keys that are bound to their row only; they open nothing until `bind`. */
export const UNBOUND_VERSION: SealVersion = 1;
const BOUND_VERSION: SealVersion = 2;

/** What a row stores: which vault key, the data key closed with it, and the secret closed with the data key. */
export interface ClosedSecret {
  readonly key_id: string;
  readonly data_key: Buffer;
  readonly secret: Buffer;
}

export interface Vault {
  close(place: SecretPlace, secret: Secret): ClosedSecret;
  /** Throws `record_altered` when the row was changed, moved or damaged, `internal` when its key is gone. */
  open(place: SecretPlace, closed: ClosedSecret): Secret;
  /**
   * Closes the data key again, with the current vault key and for the place `to` if it is given; the secret itself is not opened.
   * Undefined when the data key cannot be opened.
   */
  rewrap(place: SecretPlace, closed: ClosedSecret, to?: SecretPlace): ClosedSecret | undefined;
  /**
   * Binds to `place` a data key that an earlier version bound to its row alone. It stays closed with the same vault key, so that other
   * platform processes can open it. Undefined when it cannot be opened.
   */
  bind(place: SecretPlace, closed: ClosedSecret): ClosedSecret | undefined;
  /** The key that closes. */
  readonly currentKeyId: string;
  /** Every key that was given. */
  readonly keyIds: readonly string[];
  /** 32 bytes for another purpose (signing page tokens), derived from the current key, or from another one that `has` knows. */
  derive(purpose: string, key_id?: string): Buffer;
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
  return {
    currentKeyId: current.id,
    keyIds: [...byId.keys()],
    rewrap(place, closed, to = place) {
      const key = byId.get(closed.key_id);
      const dataKey = key === undefined ? undefined : unseal(toBoundSeal(place, key), closed.data_key);
      if (dataKey === undefined) return undefined;
      return { key_id: current.id, data_key: closeDataKey(to, current, dataKey), secret: closed.secret };
    },
    bind(place, closed) {
      const key = byId.get(closed.key_id);
      if (key === undefined) return undefined;
      const options = { key: key.bytes, place: toRowPlace(place, key.id), version: UNBOUND_VERSION };
      const dataKey = unseal(options, closed.data_key);
      return dataKey === undefined ? undefined : { ...closed, data_key: closeDataKey(place, key, dataKey) };
    },
    close(place, secret) {
      const key = randomBytes(DATA_KEY_BYTES);
      const options = { key, place: toSecretPlace(place), version: SECRET_VERSION };
      return {
        key_id: current.id,
        data_key: closeDataKey(place, current, key),
        secret: seal(options, randomBytes(IV_BYTES), Buffer.from(secret.reveal(), 'utf8')),
      };
    },
    open(place, closed) {
      const key = byId.get(closed.key_id);
      if (key === undefined) {
        throw new RemoraError('internal', `the credential of ${place.kind} ${place.id} cannot be read`, {
          cause: new Error(`the vault key ${closed.key_id} was not given`),
        });
      }
      const dataKey = unseal(toBoundSeal(place, key), closed.data_key);
      if (dataKey === undefined) throw altered(place, 'its data key does not open');
      const options = { key: dataKey, place: toSecretPlace(place), version: SECRET_VERSION };
      const secret = unseal(options, closed.secret);
      if (secret === undefined) throw altered(place, 'its secret does not open');
      return new Secret(secret.toString('utf8'));
    },
    derive(purpose, key_id = current.id) {
      const key = byId.get(key_id);
      if (key === undefined) throw new Error(`the vault key ${key_id} was not given`);
      return Buffer.from(hkdfSync('sha256', key.bytes, Buffer.alloc(0), `remora ${purpose}`, 32));
    },
    has: (key_id) => byId.has(key_id),
  };
}

function toBoundSeal(place: SecretPlace, { id, bytes }: VaultKey) {
  return { key: bytes, place: toBoundPlace(place, id), version: BOUND_VERSION };
}

function closeDataKey(place: SecretPlace, key: VaultKey, dataKey: Uint8Array): Buffer {
  return seal(toBoundSeal(place, key), randomBytes(IV_BYTES), dataKey);
}

/** Throws `not_configured` naming every key that stored secrets need and that was not given. */
export function checkKeysInUse(vault: Vault, key_ids: readonly string[]): void {
  const missing = listMissingKeys(vault, key_ids);
  if (missing.length === 0) return;
  throw new RemoraError(
    'not_configured',
    `stored credentials need the vault key ${missing.join(', ')}, which was not given; add it after the current key`,
  );
}

/** An id that no key can have means a damaged row, which must not keep the platform from starting. */
export function listMissingKeys(vault: Pick<Vault, 'has'>, key_ids: readonly string[]): readonly string[] {
  return key_ids.filter((key_id) => VAULT_KEY_ID.test(key_id) && !vault.has(key_id));
}

/** Damage and a change look the same: either way the row is not what the secret was closed for, and nothing is sent. */
function altered({ kind, id }: SecretPlace, reason: string): RemoraError {
  return new RemoraError(
    'record_altered',
    `the record of ${kind} ${id} was changed outside the platform, or is damaged: its credential stays closed. Put the record ` +
      'back as it was, or delete it and create it again',
    { cause: new Error(reason) },
  );
}
