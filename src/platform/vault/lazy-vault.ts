// A vault whose keys are parsed at its first use: most commands of an operator need none.
import type { Secret } from '../../core/secret.ts';
import { createVault, type Vault } from './vault.ts';

/** Every method throws what `createVault` throws. */
export function createLazyVault(keys: readonly Secret[]): Vault {
  let opened: Vault | undefined;
  const vault = () => {
    opened ??= createVault(keys);
    return opened;
  };
  return {
    close: (place, secret) => vault().close(place, secret),
    open: (place, closed) => vault().open(place, closed),
    rewrap: (place, closed) => vault().rewrap(place, closed),
    bind: (place, closed) => vault().bind(place, closed),
    get currentKeyId() {
      return vault().currentKeyId;
    },
    get keyIds() {
      return vault().keyIds;
    },
    derive: (purpose) => vault().derive(purpose),
    has: (key_id) => vault().has(key_id),
  };
}
