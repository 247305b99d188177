// What the agent says of the caller for whom it asks. Only the agent can open the supervisor's socket.
import type { IncomingMessage } from 'node:http';
import { AS_ROOT_ALLOWED, AS_ROOT_HEADER } from '../core/supervisor-wire.ts';

export interface SupervisorCaller {
  /** Whether the caller may act as root and change the owner of files. */
  readonly mayActAsRoot: boolean;
}

export function toSupervisorCaller({ headers }: Pick<IncomingMessage, 'headers'>): SupervisorCaller {
  return { mayActAsRoot: headers[AS_ROOT_HEADER] === AS_ROOT_ALLOWED };
}
