// One request on its way through the edge, with what is known of it so far.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RemoraError } from '../core/remora-error.ts';
import type { Match } from './router.ts';
import type { Upgrade } from './upgrade.ts';

export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The name of the listener, as `createServer` of the edge got it. */
  readonly listener: string;
  readonly upgrade: Upgrade | undefined;
  /** Set once the operation is found. */
  match?: Match;
  /** Set once the caller is known: the result of `authenticate`. */
  principal?: unknown;
  /** Ends the answer in its form; set while it has one in which a reason can be said. Any other answer breaks off. */
  cut?: (reason: RemoraError) => void;
}
