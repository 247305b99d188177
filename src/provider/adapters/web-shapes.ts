// A handler in the shapes of the web: `Request` in, `Response` out.
import type { ProviderAnswer } from '../provider-answer.ts';
import { type ReceivedRequest, readCapped } from '../received-request.ts';

/** A `Request` has its URL normalised: a query whose bytes that changes is refused, because its signature is over the bytes. */
export function toReceived(request: Request): ReceivedRequest {
  const { pathname, search } = new URL(request.url);
  return {
    method: request.method,
    target: pathname + search,
    header: (name) => request.headers.get(name) ?? undefined,
    async readBody() {
      return request.body === null ? new Uint8Array() : await readCapped(request.body);
    },
  };
}

export function toResponse({ status, headers, body }: ProviderAnswer): Response {
  // These statuses have no body, not even an empty one.
  const content = status === 204 || status === 304 ? null : body;
  return new Response(content, { status, headers: headers.map(([name, value]) => [name, value]) });
}
