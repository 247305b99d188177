// The exit codes of `remora`, and the errors that choose one.

export const exitCode = {
  ok: 0,
  /** The command failed, or the answer was an error. */
  failed: 1,
  /** The command line is wrong. */
  usage: 2,
  /** Nobody serves on the socket. */
  unreachable: 3,
} as const;

/** The command line is wrong; the message says how. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** There is no agent on the socket; the message names the path that was tried. */
export class AgentUnreachableError extends Error {
  override readonly name = 'AgentUnreachableError';
}
