// Starts a platform with its vault keys: checks that all needed ones are there, records them for other processes, and binds the seals of
// earlier versions.

import { join } from 'node:path';
import type { Log } from '../core/log.ts';
import { bindOldSeals, SEALS_BOUND } from './connectors/records/bound-seals.ts';
import type { ConnectorStore } from './connectors/records/connector-store.ts';
import type { Storage } from './storage/storage.ts';
import { VAULT_KEYS, writeRunningKeys } from './vault/running-keys.ts';
import type { SecretSource } from './vault/secret-source.ts';
import { checkKeysInUse, type Vault } from './vault/vault.ts';

export interface TakeUpKeysOptions {
  /** The directory of the platform. */
  readonly dir: string;
  readonly storage: Storage;
  readonly connectors: ConnectorStore;
  /** Every kind of secret, the credentials of connectors among them. */
  readonly sources: readonly SecretSource[];
  readonly vault: Vault;
  /** The id of this platform process. */
  readonly host: string;
  readonly log: Log;
}

const LATE_SEALS =
  'credentials that an earlier version closed came into the database later and stay closed; after a backup of that version was ' +
  'restored, delete the file and start again';

/** Throws `not_configured` when stored credentials need a key that was not given. */
export async function takeUpKeys(options: TakeUpKeysOptions): Promise<void> {
  const { dir, storage, connectors, sources, vault, host, log } = options;
  await storage.exclusively(VAULT_KEYS, async () => {
    const key_ids = await Promise.all(sources.map((source) => source.listKeyIds()));
    checkKeysInUse(vault, [...new Set(key_ids.flat())].sort());
    await writeRunningKeys(storage, host, vault.keyIds);
    const { rotated, unreadable, refused } = await bindOldSeals(dir, connectors, vault);
    if (rotated > 0) log.info({ connectors: rotated }, 'credentials were bound to where their connectors send them');
    if (unreadable.length > 0) log.error({ connectors: unreadable }, 'credentials cannot be read and stay closed');
    if (refused.length > 0) log.error({ connectors: refused, file: join(dir, SEALS_BOUND) }, LATE_SEALS);
  });
}
