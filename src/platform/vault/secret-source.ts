// One kind of stored secret, as the vault needs it to close all of them with another key. A new kind is one more source.
import type { SecretPlace } from './secret-place.ts';
import type { ClosedSecret } from './vault.ts';

export interface StoredSecret {
  /** Where it belongs, by its record as that is now; `id` is unique in its source. */
  readonly place: SecretPlace;
  readonly closed: ClosedSecret;
}

export interface SecretSource {
  /** What holds its secrets, for reports and the log: `connectors`. */
  readonly name: string;
  /** The ids of the vault keys without which some secret of this source cannot be opened. */
  listKeyIds(): Promise<readonly string[]>;
  /** Lists at most `limit` secrets that were closed with another key than this one, whose id is greater than `after`; sorted by id. */
  listClosedOtherwise(key_id: string, after: string, limit: number): Promise<readonly StoredSecret[]>;
  /** Replaces the closed data key. False when the secret is gone or was closed again since it was listed. */
  setDataKey(secret: StoredSecret, closed: ClosedSecret): Promise<boolean>;
}
