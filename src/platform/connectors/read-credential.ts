// Reads the stored credential of a connector, and logs a record that was changed outside the platform.
import type { Log } from '../../core/log.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { SecretPlace } from '../vault/secret-place.ts';
import type { Vault } from '../vault/vault.ts';
import { toConnectorPlace } from './records/connector-place.ts';
import type { ConnectorRow } from './records/connector-store.ts';
import { type Credential, parseCredential } from './records/credential.ts';

/** Throws `record_altered` when the row is not the one that its credential was closed for, or `internal`. */
export type ReadCredential = (row: ConnectorRow) => Credential;

const STATES_KEPT = 1_000;

export function createReadCredential(vault: Pick<Vault, 'open'>, log: Pick<Log, 'error'>): ReadCredential {
  const loggedStates = new Set<string>();
  /** A row that is kept in memory is read again and again. */
  const places = new WeakMap<ConnectorRow, SecretPlace>();
  /** The credentials that were opened in this turn of the event loop, for the calls of the same turn: nothing outlives it here. */
  const opened = new Map<ConnectorRow, Credential>();
  const forget = () => opened.clear();

  function placeOf(row: ConnectorRow): SecretPlace {
    const place = places.get(row) ?? toConnectorPlace(row);
    places.set(row, place);
    return place;
  }

  /** Logs each altered state of a row once, however often it is called. */
  function logAltered({ id, provider, closed }: ConnectorRow, err: RemoraError): void {
    const state = `${id} ${closed.data_key.toString('hex')}`;
    if (loggedStates.has(state)) return;
    if (loggedStates.size >= STATES_KEPT) loggedStates.clear();
    loggedStates.add(state);
    log.error({ connector: id, provider, err }, 'the record of a connector was changed outside the platform');
  }

  return (row) => {
    const known = opened.get(row);
    if (known !== undefined) return known;
    try {
      const credential = parseCredential(row.connection_type, vault.open(placeOf(row), row.closed));
      if (opened.size === 0) setImmediate(forget);
      opened.set(row, credential);
      return credential;
    } catch (error) {
      if (error instanceof RemoraError && error.code === 'record_altered') logAltered(row, error);
      throw error;
    }
  };
}
