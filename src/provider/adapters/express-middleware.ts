// A handler in an application of Express.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ProviderHandler } from '../provider-handler.ts';
import { serveNode, toReceived } from './node-listener.ts';

/** What Express adds to a request. */
export type ExpressRequest = IncomingMessage & { readonly originalUrl?: string; readonly body?: unknown };
export type ExpressMiddleware = (
  request: ExpressRequest,
  response: ServerResponse,
  next: (error?: unknown) => void,
) => void;

/**
 * A middleware for `app.use(…)`, before any that reads bodies, because a signature is over the bytes; `express.raw()` may come before it.
 * Paths that are not the handler's go on to the next one.
 */
export function toExpressMiddleware(handler: ProviderHandler): ExpressMiddleware {
  return (request, response, next) => {
    const target = request.originalUrl ?? request.url ?? '';
    if (!handler.serves(target)) {
      next();
      return;
    }
    const { body } = request;
    if (body !== undefined && !(body instanceof Uint8Array) && request.readableEnded) {
      next(new Error('the body was parsed before: put the provider’s handler above express.json() and the like'));
      return;
    }
    const whole = body instanceof Uint8Array ? body : undefined;
    serveNode(handler, toReceived(request, target, whole), response).catch(next);
  };
}
