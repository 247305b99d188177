// What counts a request on its way through the proxy until its end.
import type { OpenCall } from './open-calls.ts';
import type { LoggedRequest } from './request-log.ts';

export interface Passage {
  readonly logged: LoggedRequest;
  /** Set once the caller may come in. */
  call: OpenCall | undefined;
  /** Set before the state of the machine is read. */
  counted: Disposable | undefined;
}
