// Many connectors as the Sandbox API shows them, made in several turns of the event loop.
import { mapInTurns } from '../../core/map-in-turns.ts';
import type { ConnectorRow } from './records/connector-store.ts';

/** What a record costs beside its policy. */
const RECORD_COST = 512;
/** A policy is read, checked and copied for its record. */
const POLICY_TIMES = 2;

/** Keeps the order of the rows. */
export async function listConnections<T>(
  rows: readonly ConnectorRow[],
  toRecord: (row: ConnectorRow) => T,
): Promise<T[]> {
  const costOf = (row: ConnectorRow) => RECORD_COST + POLICY_TIMES * (row.access_policy?.length ?? 0);
  return await mapInTurns(rows, costOf, toRecord);
}
