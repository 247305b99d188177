// A handler that passes the exchange on to another server, which has the operation and reads the request: query and body stay unread
// here, and the answer is written by what passes it on, whatever its kind.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Upgrade } from './upgrade.ts';

export interface PassedCall<P> {
  readonly params: Readonly<Record<string, string>>;
  readonly principal: P;
  readonly request: IncomingMessage;
  readonly upgrade: Upgrade | undefined;
}

export class PassOn<P> {
  /** Throws only while nothing has been answered. */
  readonly run: (call: PassedCall<P>, response: ServerResponse) => Promise<void>;

  constructor(run: (call: PassedCall<P>, response: ServerResponse) => Promise<void>) {
    this.run = run;
  }
}
