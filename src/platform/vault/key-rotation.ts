// Closing every stored credential with the current key, while the platform serves. A row at a time and each for good, so that a
// rotation that was broken off goes on where it stopped.
import type { ConnectorStore } from '../connectors/connector-store.ts';
import type { Vault } from './vault.ts';

export interface RotationReport {
  readonly rotated: number;
  /** Connectors whose credential does not open with any key that was given; they stay as they are. */
  readonly unreadable: readonly string[];
}

const BATCH = 100;

/** Only data keys are closed again: the credentials themselves stay closed, and no plaintext is made. */
export async function rotateKeys(connectors: ConnectorStore, vault: Vault): Promise<RotationReport> {
  const unreadable: string[] = [];
  let rotated = 0;
  let after = '';
  for (;;) {
    const rows = await connectors.listClosedOtherwise(vault.currentKeyId, after, BATCH);
    const last = rows.at(-1);
    if (last === undefined) return { rotated, unreadable };
    for (const row of rows) {
      const closed = vault.rewrap({ organization_id: row.organization_id, connector_id: row.id }, row.closed);
      if (closed === undefined) unreadable.push(row.id);
      // A row that has changed in between was closed by the platform that is running, with a key that it has.
      else if (await connectors.setDataKey(row, closed)) rotated += 1;
    }
    after = last.id;
  }
}
