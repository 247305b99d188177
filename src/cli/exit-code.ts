// The exit codes of `remora`, and the errors that choose one.

export const exitCode = {
  ok: 0,
  /** The command failed, or the answer was an error. */
  failed: 1,
  /** The command line is wrong. */
  usage: 2,
  /** Nobody listens on the socket or at the address. */
  unreachable: 3,
  /** The connection was lost in the middle of what it is for, as with ssh. */
  lost: 255,
} as const;

/** The command line is wrong; the message says how. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Nobody answers at the path or address that the message names. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';
}

/** The connection was lost in the middle; the message says of what. */
export class LostError extends Error {
  override readonly name = 'LostError';
}
