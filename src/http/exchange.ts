// One request on its way through the edge.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Upgrade } from './upgrade.ts';

export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The name of the listener, as `createServer` of the edge got it. */
  readonly listener: string;
  readonly upgrade: Upgrade | undefined;
}
