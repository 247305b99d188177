// A digest of everything that sprites see of the connectors of an organization. It is made once for all of its sprites, in several turns of
// the event loop.
import { createHash } from 'node:crypto';
import { createTurns } from '../../core/turns.ts';
import type { ConnectorRow } from '../connectors/records/connector-store.ts';

/** What a row costs beside its policy. */
const ROW_COST = 128;

/** A renewed credential does not change it: agents see no credential. */
export async function toConnectorsDigest(connectors: readonly ConnectorRow[]): Promise<string> {
  const turns = createTurns();
  const hash = createHash('sha256');
  for (const row of connectors) {
    const seen = [
      row.id,
      row.name,
      row.provider,
      row.provider_account_id,
      row.provider_account_name,
      row.base_api_url,
      row.access_policy,
      row.scopes,
    ];
    hash.update(`${JSON.stringify(seen)}\n`);
    const turn = turns.spend(ROW_COST + (row.access_policy?.length ?? 0));
    if (turn !== undefined) await turn;
  }
  return hash.digest('hex');
}
