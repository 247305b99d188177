// Leads a request to the handler that answers it: finds its operation and its caller, and parses its parts.
import { toCall } from './call.ts';
import { checkRequest } from './check-request.ts';
import type { AnyEdgeOptions } from './edge-options.ts';
import type { Exchange } from './exchange.ts';
import { parseWith } from './parse-with.ts';
import { PassOn } from './pass-on.ts';
import type { Router } from './router.ts';
import { targetPath } from './target-path.ts';
import type { WriteAnswer } from './write-answer.ts';

export interface ServeCallDeps extends Pick<AnyEdgeOptions, 'handlers' | 'authenticate' | 'bodyDeadline_ms' | 'loop'> {
  readonly router: Router;
  /** Throws `shutting_down`. */
  readonly checkOpen: () => void;
  readonly writeAnswer: WriteAnswer;
}

/** Resolves once the handler is done. Rejects with the error to answer with. */
export function createCallServer(deps: ServeCallDeps): (exchange: Exchange) => Promise<void> {
  const { router, handlers, bodyDeadline_ms, loop, writeAnswer } = deps;
  return async (exchange) => {
    const { request, response, listener, upgrade } = exchange;
    checkRequest(request);
    deps.checkOpen();
    const match = router.match(request.method ?? '', targetPath(request), upgrade?.protocol, request.headers.accept);
    exchange.match = match;
    const { id, operation, params } = match;
    const onTurn = () => loop?.enter(id);
    onTurn();
    if (operation.noStore === true) response.setHeader('cache-control', 'no-store');
    const given = deps.authenticate(request, operation, listener);
    const principal = given instanceof Promise ? await given : given;
    exchange.principal = principal;
    const handler = handlers[id];
    if (handler === undefined) throw new Error(`operation ${id} has no handler`);
    if (handler instanceof PassOn) {
      if (operation.params !== undefined) parseWith(operation.params, params, 'path');
      await handler.run({ params, principal, request, upgrade }, response);
      return;
    }
    const made = toCall({ request, response, operation, params, principal, upgrade, bodyDeadline_ms, onTurn });
    const call = made instanceof Promise ? await made : made;
    await writeAnswer({ exchange, operation, call, handler, onTurn });
  };
}
