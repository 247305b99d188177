// What the agent says of the caller for whom it asks. Only the agent can open the supervisor's socket.
import type { IncomingMessage } from 'node:http';

export interface SupervisorCaller {
  /** Whether the caller may act as root and change the owner of files. */
  readonly mayActAsRoot: boolean;
}

/** Set by the agent, and never passed on from a caller. */
export const AS_ROOT_HEADER = 'remora-as-root';
export const AS_ROOT_ALLOWED = 'allowed';

export function toSupervisorCaller({ headers }: Pick<IncomingMessage, 'headers'>): SupervisorCaller {
  return { mayActAsRoot: headers[AS_ROOT_HEADER] === AS_ROOT_ALLOWED };
}
