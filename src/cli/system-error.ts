// Turns errors of the operating system into messages for people: which file or address, and what to do. Pure.
import { errorCode } from '../core/error-code.ts';

const problems: Readonly<Record<string, (what: string) => string>> = {
  ENOENT: (what) => `there is no file or directory ${what}`,
  EACCES: (what) => `this user may not use ${what}`,
  EPERM: (what) => `this user may not do that to ${what}`,
  EISDIR: (what) => `${what} is a directory, and a file is expected`,
  ENOTDIR: (what) => `a part of ${what} is a file, and a directory is expected`,
  EEXIST: (what) => `${what} exists already`,
  EROFS: (what) => `${what} is on a file system that is read only`,
  ENOSPC: (what) => `there is no space left for ${what}`,
  ELOOP: (what) => `${what} is a link that leads nowhere`,
  ENOTEMPTY: (what) => `${what} is not empty`,
};

/** The message of any other error, followed by its code where it has one. */
export function toPlainSystemError(error: unknown): string {
  // The suppressed error came first; the other one came during the clean-up after it.
  if (error instanceof SuppressedError) return toPlainSystemError(error.suppressed);
  if (!(error instanceof Error)) return String(error);
  const code = errorCode(error);
  if (code === undefined) return error.message;
  const path = 'path' in error && typeof error.path === 'string' ? error.path : undefined;
  const isMade = 'syscall' in error && error.syscall === 'mkdir';
  if (code === 'ENOENT' && isMade && path !== undefined) {
    return `the directory ${path} cannot be made there; choose another (${code})`;
  }
  const problem = problems[code];
  if (problem !== undefined && path !== undefined) return `${problem(path)} (${code})`;
  return error.message.includes(code) ? error.message : `${error.message} (${code})`;
}
