// The error of a file operation: the code of the system, the path that it is about, and words for the caller.
import { getSystemErrorMessage } from 'node:util';
import { type ErrorCode, errorStatus } from '../../contract/errors.ts';
import type { MapError } from '../../http/error-answer.ts';

/** What each code of the system is on the wire. A code that is not listed is a fault of the machine: 500 `internal`. */
const codes: Readonly<Record<string, ErrorCode>> = {
  ENOENT: 'not_found',
  EACCES: 'forbidden',
  EPERM: 'forbidden',
  EROFS: 'forbidden',
  EEXIST: 'already_exists',
  ENOTEMPTY: 'conflict',
  EBUSY: 'conflict',
  ETXTBSY: 'conflict',
  EISDIR: 'invalid_request',
  ENOTDIR: 'invalid_request',
  EINVAL: 'invalid_request',
  ELOOP: 'invalid_request',
  ENAMETOOLONG: 'invalid_request',
  EXDEV: 'invalid_request',
  ENOTSUP: 'invalid_request',
  EFBIG: 'payload_too_large',
  E2BIG: 'payload_too_large',
  ENOSPC: 'storage_full',
  EDQUOT: 'storage_full',
  EMFILE: 'not_ready',
  ENFILE: 'not_ready',
  EAGAIN: 'not_ready',
};

const RETRY_MS = 1_000;

export class FileError extends Error {
  override readonly name = 'FileError';
  /** Such as `ENOENT`. */
  readonly code: string;
  readonly path: string;

  /** @param what is wrong, and what to do where that is not plain; the path is added. */
  constructor(code: string, path: string, what: string, options?: ErrorOptions) {
    super(`${what}: ${path}`, options);
    this.code = code;
    this.path = path;
  }
}

/** Gives an error of the system the path as the caller knows it; any other error stays as it is. */
export function toFileError(error: unknown, path: string): unknown {
  if (error instanceof FileError || !(error instanceof Error)) return error;
  const { code, errno } = error as NodeJS.ErrnoException;
  if (typeof code !== 'string' || typeof errno !== 'number') return error;
  return new FileError(code, path, getSystemErrorMessage(errno), { cause: error });
}

/** The result of `work`; its error of the system gets `path`. */
export async function named<T>(path: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw toFileError(error, path);
  }
}

/** Maps errors for an edge that serves file operations. `code` and `path` stand beside `error`, where clients of the Sprites API read them. */
export const mapFileError: MapError = (error) => {
  if (!(error instanceof FileError)) return undefined;
  const { message, path } = error;
  const code = codes[error.code] ?? 'internal';
  const retry = code === 'not_ready' ? { retryAfter_ms: RETRY_MS } : {};
  return { status: errorStatus[code], code, message, fields: { code: error.code, path }, ...retry };
};
