// Binds the seals of an earlier version, which bound a credential to its row and not to where it goes: once in the life of a platform's
// directory, and only those that the migration of the database found. A file in the directory records that it was done, because who can
// write the database could have one of them put back, with another address beside it.
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ClosedAgain, reEncryptEach } from '../../vault/re-encrypt-each.ts';
import { listMissingKeys, type Vault } from '../../vault/vault.ts';
import { createConnectorSecrets, toStoredSecret } from './connector-secrets.ts';
import type { ConnectorStore } from './connector-store.ts';

/** The name of the file. A platform whose database was replaced by an older backup binds again when it is deleted. */
export const SEALS_BOUND = 'seals-bound';

export interface OldSeals extends ClosedAgain {
  /** Connectors with a seal of an earlier version that is not accepted: their credentials stay closed. */
  readonly refused: readonly string[];
}

/** Does nothing but list them where the directory has the record. Throws where the record cannot be written. */
export async function bindOldSeals(dir: string, connectors: ConnectorStore, vault: Vault): Promise<OldSeals> {
  const path = join(dir, SEALS_BOUND);
  if (existsSync(path)) return { rotated: 0, unreadable: [], refused: await connectors.listOldSeals() };
  const { rotated, unreadable } = await bindSeals(connectors, vault);
  // What waits for a key that was not given is bound once it is.
  if (listMissingKeys(vault, await connectors.listKeyIds()).length > 0) return { rotated, unreadable, refused: [] };
  await connectors.forgetUnbound();
  const text = 'The credentials of this platform are bound to where they go; seals of earlier versions are refused.\n';
  writeFileSync(path, text, { mode: 0o600, flag: 'a' });
  const refused = (await connectors.listOldSeals()).filter((id) => !unreadable.includes(id));
  return { rotated, unreadable, refused };
}

/** Binds what the migration found of a version that bound a credential to its row and not to where it goes. */
export async function bindSeals(connectors: ConnectorStore, vault: Vault): Promise<ClosedAgain> {
  const { setDataKey } = createConnectorSecrets(connectors);
  return await reEncryptEach({
    list: async (after, limit) => (await connectors.listUnbound(after, limit)).map(toStoredSecret),
    close: ({ place, closed }) => vault.bind(place, closed),
    setDataKey,
  });
}
