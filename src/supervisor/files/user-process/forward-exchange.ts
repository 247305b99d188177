// Passes one exchange on to the process of the user, and its answer back: bytes with back-pressure, and the end of either side ends the
// other.
import type { ClientRequest, IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream';
import type { Operation } from '../../../contract/operation.ts';
import { InnerHeaders } from '../../../core/http/inner-headers.ts';
import { RemoraError } from '../../../core/remora-error.ts';
import { findHandshakeKey } from '../../../core/websocket/websocket-handshake.ts';
import type { Call } from '../../../http/handler.ts';
import { nodeHttp } from '../../../http/node-http.ts';
import { switchToTunnel } from '../../../http/switch-to-tunnel.ts';
import type { Upgrade } from '../../../http/upgrade.ts';

/** Request headers that mean something to a file operation. */
const PASSED = [
  'range',
  'if-range',
  'if-none-match',
  'if-modified-since',
  'content-length',
  'transfer-encoding',
  'expect',
];
const PASSED_FOR_UPGRADE = ['upgrade', 'connection', 'sec-websocket-key', 'sec-websocket-version'];
/** Headers that belong to one connection. */
const OF_CONNECTION = ['connection', 'keep-alive', 'transfer-encoding', 'date'];

const headerPolicy = new InnerHeaders();

/** Resolves when it is over. Throws `upstream_failed` while nothing is answered. */
export function forwardExchange(
  call: Call<Operation, unknown>,
  response: ServerResponse,
  socket: string,
): Promise<void> {
  const { request, upgrade, body } = call;
  const text = body === undefined ? undefined : JSON.stringify(body);
  const onward = nodeHttp.request({
    socketPath: socket,
    method: request.method ?? 'GET',
    path: request.url ?? '/',
    headers: toHeaders(request, upgrade, text),
    agent: false,
  });
  return new Promise((resolve, reject) => {
    const onGone = () => onward.destroy();
    response.once('close', onGone);
    if (response.destroyed) onGone();
    onward.once('response', (answer) => passAnswer(answer, response, resolve));
    onward.once('upgrade', (answer, upstream) => {
      response.off('close', onGone);
      const key = findHandshakeKey(request.rawHeaders) ?? '';
      if (upgrade === undefined) upstream.destroy();
      else {
        const headers = answer.rawHeaders;
        const ends = {
          upgrade,
          key,
          upstream,
          headers,
          from: 'supervisor',
          policy: headerPolicy,
          signal: undefined,
        } as const;
        try {
          switchToTunnel({ ...ends, idle_ms: 0 }).then(() => resolve(), reject);
        } catch (error) {
          reject(error);
        }
      }
    });
    onward.on('error', (cause) => {
      if (response.headersSent || response.destroyed) {
        response.destroy();
        resolve();
      } else {
        reject(new RemoraError('upstream_failed', 'the process for the files of the user ended; repeat', { cause }));
      }
    });
    sendBody(request, response, onward, text);
  });
}

function toHeaders(
  request: IncomingMessage,
  upgrade: Upgrade | undefined,
  text: string | undefined,
): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = { host: 'supervisor' };
  if (text !== undefined) {
    return { ...headers, 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
  }
  for (const name of upgrade === undefined ? PASSED : PASSED_FOR_UPGRADE) {
    const value = request.headers[name];
    if (value !== undefined) headers[name] = value;
  }
  return headers;
}

function sendBody(
  request: IncomingMessage,
  response: ServerResponse,
  onward: ClientRequest,
  text: string | undefined,
): void {
  if (text !== undefined || !hasBody(request)) {
    onward.end(text);
    return;
  }
  const pass = () => {
    request.pipe(onward);
    request.once('close', () => {
      // Cut short here, it must not look whole there.
      if (!request.complete) onward.destroy();
    });
  };
  onward.once('response', () => request.unpipe(onward));
  if (request.headers.expect === undefined) {
    pass();
    return;
  }
  onward.once('continue', () => {
    response.writeContinue();
    pass();
  });
  onward.flushHeaders();
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

function passAnswer(answer: IncomingMessage, response: ServerResponse, resolve: () => void): void {
  const headers: string[] = [];
  for (let index = 0; index + 1 < answer.rawHeaders.length; index += 2) {
    const [name = '', value = ''] = answer.rawHeaders.slice(index, index + 2);
    if (!OF_CONNECTION.includes(name.toLowerCase())) headers.push(name, value);
  }
  response.writeHead(answer.statusCode ?? 502, headers);
  pipeline(answer, response, () => resolve());
}
