// Passes one exchange on to the process of the user.
import type { ServerResponse } from 'node:http';
import type { Operation } from '../../../contract/operation.ts';
import { InnerHeaders } from '../../../core/http/inner-headers.ts';
import type { Call } from '../../../http/handler.ts';
import type { HeaderPolicy } from '../../../http/header-policy.ts';
import { createSocketDispatcher } from '../../../http/socket-dispatcher.ts';
import { streamExchange } from '../../../http/streaming-proxy.ts';
import { toTunnel } from '../../../http/to-tunnel.ts';

/** The largest body: a file is streamed, and its size is limited by the disk. */
const NO_CAP = Number.MAX_SAFE_INTEGER;

const asSent = new InnerHeaders();

/** Resolves when it is over. Throws `upstream_failed` while nothing is answered. */
export async function forwardExchange(
  call: Call<Operation, unknown>,
  response: ServerResponse,
  socket: string,
): Promise<void> {
  const { request, upgrade, body } = call;
  const text = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
  const tunnel = toTunnel(request, upgrade, 0);
  const dispatcher = createSocketDispatcher(socket);
  await streamExchange(request, response, {
    dispatcher: () => dispatcher,
    origin: 'http://files',
    path: request.url ?? '/',
    headers: text === undefined ? asSent : toTextHeaders(text),
    from: 'file process',
    bodyCap_bytes: NO_CAP,
    ...(text === undefined ? {} : { body: text }),
    ...(tunnel === undefined ? {} : { tunnel }),
  });
}

/** The body was read, and is written again. */
function toTextHeaders(text: Buffer): HeaderPolicy {
  return {
    request: () => ['content-type', 'application/json', 'content-length', String(text.length)],
    response: (headers) => asSent.response(headers),
    mayShow: () => true,
  };
}
