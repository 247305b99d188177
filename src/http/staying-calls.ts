// The calls of an edge that may stay open for long, with the way to end each. They are found among the answers that are due on each
// connection, so that a call costs nothing for it.
import type { Operation } from '../contract/operation.ts';
import type { RemoraError } from '../core/remora-error.ts';
import type { Exchange } from './exchange.ts';

export interface StayingCall<P> {
  /** The id of its operation. */
  readonly id: string;
  readonly principal: P;
  /** Ends it: a stream with an error line, a WebSocket with a close frame. Everything else breaks off, as does what has no answer so far. */
  cut(reason: RemoraError): void;
}

/** Whether a call of this operation may go on for as long as its caller likes. */
export function staysOpen({ answer, upgrade }: Pick<Operation, 'answer' | 'upgrade'>): boolean {
  return upgrade !== undefined || answer.kind === 'stream' || answer.kind === 'raw';
}

/** Those of these whose operation stays open, and whose caller is known. */
export function listStaying<P>(open: readonly Exchange[]): StayingCall<P>[] {
  return open.flatMap((exchange) => {
    const { match, principal } = exchange;
    if (match === undefined || principal === undefined || !staysOpen(match.operation)) return [];
    return [{ id: match.id, principal: principal as P, cut: (reason) => cut(exchange, reason) }];
  });
}

function cut({ response, cut: end }: Exchange, reason: RemoraError): void {
  if (end === undefined) response.destroy();
  else end(reason);
}
