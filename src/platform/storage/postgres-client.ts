// A client of a PostgreSQL server: the address with its password, the deadlines, and the types of values. It connects at the first
// query.
import postgres from 'postgres';
import { RemoraError } from '../../core/remora-error.ts';
import type { Secret } from '../../core/secret.ts';

export type PostgresClient = ReturnType<typeof createPostgresClient>;

export interface PostgresClientOptions {
  readonly url: Secret;
  /** The most connections at once. */
  readonly max: number;
  /** The server cancels a statement after this time. */
  readonly statement_ms: number;
  /** Runs when a connection has ended, for whatever reason, before another query can be sent. */
  readonly onClose?: () => void;
}

const CONNECT_S = 5;
const IDLE_IN_TRANSACTION_MS = 15_000;

/** Reads `bigint` as a number: all stored values fit. */
const bigint = {
  to: 20,
  from: [20],
  serialize: (value: unknown) => String(value),
  parse: (text: string) => Number(text),
};

/** Throws `not_configured` for an address that cannot be read; the address is in no message. */
export function createPostgresClient({ url, max, statement_ms, onClose = () => undefined }: PostgresClientOptions) {
  const { address, host } = parseAddress(url.reveal());
  const options = {
    ...(host === undefined ? {} : { host }),
    max,
    connect_timeout: CONNECT_S,
    // No maximum age: it would close a connection in the middle of a transaction too.
    max_lifetime: null,
    idle_timeout: undefined,
    // No delay between attempts: a query fails at once while the server is gone, and the first one after its return succeeds.
    backoff: () => 0,
    fetch_types: false,
    types: { bigint },
    onnotice: () => undefined,
    onclose: onClose,
    connection: {
      application_name: 'remora platform',
      statement_timeout: statement_ms,
      lock_timeout: statement_ms,
      idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
      // The server ends the connection, and with it the locks, of a host that vanished within a minute.
      tcp_keepalives_idle: 30,
      tcp_keepalives_interval: 10,
      tcp_keepalives_count: 3,
    },
  };
  try {
    return postgres(address, options);
  } catch {
    // The cause is left out: it holds the address with the password.
    throw unreadable();
  }
}

/** `?host=/directory` names the directory of a Unix socket, as it does for libpq. */
function parseAddress(text: string): { address: string; host?: string } {
  if (!/^postgres(ql)?:\/\//.test(text)) throw unreadable();
  if (!URL.canParse(text)) return { address: text };
  const url = new URL(text);
  const host = url.searchParams.get('host');
  if (host === null) return { address: text };
  url.searchParams.delete('host');
  return { address: url.href, host };
}

function unreadable(): RemoraError {
  const message = 'the address of the database cannot be read; expected postgres://user:password@host:5432/database';
  return new RemoraError('not_configured', message);
}
