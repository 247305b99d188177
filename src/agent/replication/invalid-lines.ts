// Lines of the node that cannot be used: all are counted, the last one is kept for the status, and the first one of a connection is
// logged, so that a broken node does not fill the log.
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';

export interface InvalidLine {
  readonly reason: string;
  readonly at_ms: number;
}

export interface InvalidLines {
  add(reason: string): void;
  /** Call it for each new connection. */
  connected(): void;
  readonly last: InvalidLine | undefined;
}

export function createInvalidLines(clock: Clock, log: Log): InvalidLines {
  let last: InvalidLine | undefined;
  let isLogged = false;
  return {
    add(reason) {
      last = { reason, at_ms: clock.wall_ms() };
      if (!isLogged)
        log.warn({ reason }, 'the node sent a line that cannot be used; more on this connection are only counted');
      isLogged = true;
    },
    connected() {
      isLogged = false;
    },
    get last() {
      return last;
    },
  };
}
