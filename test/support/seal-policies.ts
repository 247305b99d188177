// Policies as if the platform had stored them, past the checks of its door: the text goes into the rows and the credentials are closed for it.
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { onTestFinished } from 'vitest';
import { type PlacedConnector, toConnectorPlace } from '../../src/platform/connectors/records/connector-place.ts';
import { type ClosedSecret, createVault } from '../../src/platform/vault/vault.ts';
import { TEST_KEY } from './open-platform.ts';

/** The returned function sets the policy of every connector in the database of `dir`, but for those of `except`. */
export function toPolicySetter(dir: string, except: readonly string[] = []): (policy: unknown) => void {
  const db = new Database(join(dir, 'platform.db'));
  onTestFinished(() => void db.close());
  const vault = createVault([TEST_KEY]);
  const list = db.prepare<[], PlacedConnector & ClosedSecret>('SELECT * FROM connectors');
  const set = db.prepare<[string, Buffer, string]>(
    'UPDATE connectors SET access_policy = ?, data_key = ? WHERE id = ?',
  );
  return (policy) => {
    const access_policy = JSON.stringify(policy);
    for (const row of list.all().filter(({ id }) => !except.includes(id))) {
      const closed = vault.rewrap(toConnectorPlace(row), row, toConnectorPlace({ ...row, access_policy }));
      if (closed === undefined) throw new Error(`the credential of ${row.id} does not open`);
      set.run(access_policy, closed.data_key, row.id);
    }
  };
}
