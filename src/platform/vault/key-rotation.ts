// Closing every stored credential with the current key, while the platform serves, and binding those that an earlier version closed. A
// row at a time and each for good, so that what was broken off goes on where it stopped.
import { toConnectorPlace } from '../connectors/connector-place.ts';
import type { ConnectorRow, ConnectorStore } from '../connectors/connector-store.ts';
import type { ClosedSecret, Vault } from './vault.ts';

export interface RotationResult {
  readonly rotated: number;
  /** Connectors whose credential does not open with any key that was given; they stay as they are. */
  readonly unreadable: readonly string[];
}

const BATCH = 100;

/** Only data keys are closed again: the credentials themselves stay closed, and no plaintext is made. */
export async function rotateKeys(connectors: ConnectorStore, vault: Vault): Promise<RotationResult> {
  return await closeEach(connectors, {
    list: (after) => connectors.listClosedOtherwise(vault.currentKeyId, after, BATCH),
    close: (row) => vault.rewrap(toConnectorPlace(row), row.closed),
  });
}

/** Binds what the migration found of a version that bound a credential to its row and not to where it goes. */
export async function bindSeals(connectors: ConnectorStore, vault: Vault): Promise<RotationResult> {
  return await closeEach(connectors, {
    list: (after) => connectors.listUnbound(after, BATCH),
    close: (row) => vault.bind(toConnectorPlace(row), row.closed),
  });
}

interface Closing {
  readonly list: (after: string) => Promise<readonly ConnectorRow[]>;
  readonly close: (row: ConnectorRow) => ClosedSecret | undefined;
}

async function closeEach(connectors: ConnectorStore, { list, close }: Closing): Promise<RotationResult> {
  const unreadable: string[] = [];
  let rotated = 0;
  let after = '';
  for (;;) {
    const rows = await list(after);
    const last = rows.at(-1);
    if (last === undefined) return { rotated, unreadable };
    for (const row of rows) {
      const closed = close(row);
      if (closed === undefined) unreadable.push(row.id);
      // A row that has changed in between was closed by the platform that is running, with a key that it has.
      else if (await connectors.setDataKey(row, closed)) rotated += 1;
    }
    after = last.id;
  }
}
