// Closing every stored secret with the current key, while the platform serves.
import { reEncryptEach } from './re-encrypt-each.ts';
import type { SecretSource } from './secret-source.ts';
import type { Vault } from './vault.ts';

export interface RotationResult {
  readonly rotated: number;
  /** Secrets that do not open with any key that was given; they stay as they are. */
  readonly unreadable: readonly UnreadableSecret[];
}

export interface UnreadableSecret {
  /** The name of the source. */
  readonly source: string;
  readonly id: string;
}

/** Only data keys are closed again: the secrets themselves stay closed, and no plaintext is made. */
export async function rotateKeys(sources: readonly SecretSource[], vault: Vault): Promise<RotationResult> {
  const unreadable: UnreadableSecret[] = [];
  let rotated = 0;
  for (const source of sources) {
    const result = await reEncryptEach({
      list: (after, limit) => source.listClosedOtherwise(vault.currentKeyId, after, limit),
      close: ({ place, closed }) => vault.rewrap(place, closed),
      setDataKey: (secret, closed) => source.setDataKey(secret, closed),
    });
    rotated += result.rotated;
    unreadable.push(...result.unreadable.map((id) => ({ source: source.name, id })));
  }
  return { rotated, unreadable };
}
