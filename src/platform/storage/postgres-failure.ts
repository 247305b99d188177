// Sorts errors of PostgreSQL, its client and the network: the database cannot be asked now, a value cannot be stored, or a defect of
// Remora.
import postgres from 'postgres';
import { RemoraError } from '../../core/remora-error.ts';
import { StorageFailure } from './storage.ts';

/**
 * SQLSTATE classes of failures that pass: connection, insufficient resources (such as a full disk), operator intervention (shutdown, a
 * deadline), system error, transaction rolled back (deadlock), authorization, unknown database; also a lock that is not available and a
 * read-only server.
 */
const STATES = /^(08|53|57|58|40|28|3D)...$|^55P03$|^25006$|^25P0[34]$/;

/** SQLSTATE of text that PostgreSQL cannot store: it holds the character NUL. */
const UNSTORABLE = /^(22021|22P05)$/;

/** Codes of a lost connection or a server that does not answer. The client with such an error is replaced. */
const LOST = ['CONNECTION_CLOSED', 'CONNECTION_DESTROYED', 'CONNECT_TIMEOUT', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT'];
const UNREACHABLE = ['CONNECTION_ENDED', 'ECONNREFUSED', 'ENOENT', 'EACCES', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH'];
/** Codes of a certificate that is not trusted or has expired. */
const TLS = /^(ERR_TLS|ERR_SSL|CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO)/;
const NETWORK = [...LOST, ...UNREACHABLE, 'EHOSTDOWN', 'ENETUNREACH', 'ENETDOWN', 'ECONNABORTED', 'EADDRNOTAVAIL'];

export function isConnectionLost(error: unknown): boolean {
  return LOST.includes(codeOf(error));
}

/** The error to throw instead of `error`. */
export function toStorageError(error: unknown): unknown {
  const code = codeOf(error);
  if (error instanceof postgres.PostgresError) {
    if (STATES.test(code)) return new StorageFailure('the database server cannot do this now', { cause: error });
    if (UNSTORABLE.test(code)) return new RemoraError('invalid_request', 'text cannot hold the character NUL here');
    return error;
  }
  if (NETWORK.includes(code) || TLS.test(code))
    return new StorageFailure('the database server cannot be reached now', { cause: error });
  return error;
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error) || !('code' in error)) return '';
  return typeof error.code === 'string' ? error.code : '';
}
