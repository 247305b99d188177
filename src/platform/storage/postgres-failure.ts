// What an error of PostgreSQL, of its client or of the network means: that the database cannot be asked now, that a value cannot be
// stored, or a fault of ours.
import postgres from 'postgres';
import { RemoraError } from '../../core/remora-error.ts';
import { StorageFailure } from './storage.ts';

/**
 * SQLSTATE classes: connection, insufficient resources (a full disk among them), operator intervention (shut down, a deadline),
 * system error, transaction rolled back (deadlock), authorization, unknown database; a lock that was not to be had, and a server
 * that only reads.
 */
const STATES = /^(08|53|57|58|40|28|3D)...$|^55P03$|^25006$|^25P0[34]$/;

/** Text that PostgreSQL does not take: the character NUL. */
const UNSTORABLE = /^(22021|22P05)$/;

/** The connection is lost, or the server does not answer: the client that said so is not asked again. */
const LOST = ['CONNECTION_CLOSED', 'CONNECTION_DESTROYED', 'CONNECT_TIMEOUT', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT'];
const UNREACHABLE = ['CONNECTION_ENDED', 'ECONNREFUSED', 'ENOENT', 'EACCES', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH'];
/** A certificate that is not trusted, or not any more. */
const TLS = /^(ERR_TLS|ERR_SSL|CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO)/;
const NETWORK = [...LOST, ...UNREACHABLE, 'EHOSTDOWN', 'ENETUNREACH', 'ENETDOWN', 'ECONNABORTED', 'EADDRNOTAVAIL'];

export function isConnectionLost(error: unknown): boolean {
  return LOST.includes(codeOf(error));
}

/** The error to throw in place of this one. */
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
