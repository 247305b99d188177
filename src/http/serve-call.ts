// Leads a request to the handler that answers it: finds its operation and its caller, and parses its parts.
import { toCall } from './call.ts';
import { checkRequest } from './check-request.ts';
import type { AnyEdgeOptions } from './edge-options.ts';
import type { Exchange } from './exchange.ts';
import { parseWith } from './parse-with.ts';
import { PassOn } from './pass-on.ts';
import type { Match, Router } from './router.ts';
import { targetPath } from './target-path.ts';
import type { WriteAnswer } from './write-answer.ts';

export interface ServeCallDeps extends Pick<AnyEdgeOptions, 'handlers' | 'authenticate' | 'bodyDeadline_ms' | 'loop'> {
  readonly router: Router;
  /** Throws `shutting_down`. */
  readonly checkOpen: () => void;
  readonly writeAnswer: WriteAnswer;
}

/**
 * Gives a promise while the handler is at work; nothing that waits for nothing waits for a promise. Throws or rejects with the error to
 * answer with.
 */
export function createCallServer(deps: ServeCallDeps): (exchange: Exchange) => unknown {
  const { router, handlers, bodyDeadline_ms, loop, writeAnswer } = deps;

  function serve(
    exchange: Exchange,
    { id, operation, params }: Match,
    onTurn: () => void,
    principal: unknown,
  ): unknown {
    const { request, response, upgrade } = exchange;
    exchange.principal = principal;
    const handler = handlers[id];
    if (handler === undefined) throw new Error(`operation ${id} has no handler`);
    if (handler instanceof PassOn) {
      if (operation.params !== undefined) parseWith(operation.params, params, 'path');
      return handler.run({ params, principal, request, upgrade }, response);
    }
    const call = toCall({ request, response, operation, params, principal, upgrade, bodyDeadline_ms, onTurn });
    if (!(call instanceof Promise)) return writeAnswer({ exchange, operation, call, handler, onTurn });
    return call.then((read) => writeAnswer({ exchange, operation, call: read, handler, onTurn }));
  }

  return (exchange) => {
    const { request, response, listener, upgrade } = exchange;
    checkRequest(request);
    deps.checkOpen();
    const match = router.match(request.method ?? '', targetPath(request), upgrade?.protocol, request.headers.accept);
    exchange.match = match;
    const onTurn = () => loop?.enter(match.id);
    onTurn();
    if (match.operation.noStore === true) response.setHeader('cache-control', 'no-store');
    const principal = deps.authenticate(request, match.operation, listener);
    if (!(principal instanceof Promise)) return serve(exchange, match, onTurn, principal);
    return principal.then((known) => serve(exchange, match, onTurn, known));
  };
}
