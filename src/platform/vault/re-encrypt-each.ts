// Closes stored secrets again, page by page: one at a time and each for good, so that what was broken off goes on where it stopped.
import type { SecretSource, StoredSecret } from './secret-source.ts';
import type { ClosedSecret } from './vault.ts';

export interface Closing extends Pick<SecretSource, 'setDataKey'> {
  /** Lists at most `limit` secrets whose id is greater than `after`, sorted by id. */
  readonly list: (after: string, limit: number) => Promise<readonly StoredSecret[]>;
  /** Undefined for a secret that does not open. */
  readonly close: (secret: StoredSecret) => ClosedSecret | undefined;
}

export interface ClosedAgain {
  readonly rotated: number;
  /** The ids of secrets that do not open with any key that was given; they stay as they are. */
  readonly unreadable: readonly string[];
}

const BATCH = 100;

export async function reEncryptEach({ list, close, setDataKey }: Closing): Promise<ClosedAgain> {
  const unreadable: string[] = [];
  let rotated = 0;
  let after = '';
  for (;;) {
    const secrets = await list(after, BATCH);
    const last = secrets.at(-1);
    if (last === undefined) return { rotated, unreadable };
    for (const secret of secrets) {
      const closed = close(secret);
      if (closed === undefined) unreadable.push(secret.place.id);
      // A secret that has changed in between was closed by the platform that is running, with a key that it has.
      else if (await setDataKey(secret, closed)) rotated += 1;
    }
    after = last.place.id;
  }
}
