// Why a listener could not be opened.
import { getSystemErrorMessage } from 'node:util';
import { errorCode } from '../core/error-code.ts';

export type ListenErrorCode =
  | 'socket_in_use'
  | 'not_a_socket'
  | 'path_too_long'
  | 'unknown_group'
  | 'not_loopback'
  | 'bad_descriptor'
  | 'address_in_use'
  | 'cannot_listen';

/** Why a listener could not be opened, for the person who starts the daemon. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
  readonly code: ListenErrorCode;

  constructor(code: ListenErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Puts an error of the kernel into words; `what` is the step that failed. Any other error stays as it is. */
export function toListenError(error: unknown, what: string): unknown {
  if (!(error instanceof Error && 'errno' in error && typeof error.errno === 'number')) return error;
  const isInUse = errorCode(error) === 'EADDRINUSE';
  const why = isInUse
    ? 'another process listens there; stop it or choose another address'
    : getSystemErrorMessage(error.errno);
  return new ListenError(isInUse ? 'address_in_use' : 'cannot_listen', `${what}: ${why}`, { cause: error });
}
