// The HTTP server of the development database node: the event stream, the probe `/info`, and two switches that a real node does not
// have. Each server has a new id, as a real node has after each start.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { z } from 'zod';
import { type NodeInfo, nodeOperations } from '../../../contract/replication.ts';
import { randomHex } from '../../../core/urandom.ts';
import { listenOnLoopback } from '../../../http/listen-on-tcp.ts';
import { nodeHttp } from '../../../http/node-http.ts';
import { parseBody } from '../../../http/parse-body.ts';
import { parseWith } from '../../../http/parse-with.ts';
import { sendError, sendJson } from '../../../http/reply.ts';
import { BODY_CAP_BYTES, checkBody, readBody } from '../../../http/request-body.ts';
import { type NodeRole, toInitLine } from './node-event.ts';
import { createNodeSubscribers } from './node-subscribers.ts';

/** How long open answers may take to end when the server closes. */
const CLOSE_MS = 500;
const DOWN_CAP_MS = 600_000;

/** `hostname` is that of the primary, when the replica knows it. */
const roleRequest = z.discriminatedUnion('role', [
  z.strictObject({ role: z.literal('primary') }),
  z.strictObject({ role: z.literal('replica'), hostname: z.string().min(1).optional() }),
]);
const restartRequest = z.strictObject({ down_ms: z.int().min(0).max(DOWN_CAP_MS) });

export interface NodeServerOptions {
  /** The port to listen on; 0 takes a free one. */
  readonly port: number;
  /** The directory that `/info` shows. */
  readonly dir: string;
  readonly role: () => NodeRole;
  readonly onRole: (role: NodeRole) => void;
  readonly onRestart: (down_ms: number) => void;
}

export interface NodeServer extends AsyncDisposable {
  readonly port: number;
  publish(line: string): void;
}

/** Serves `GET /events`, `GET /info`, `POST /role` and `POST /restart` on 127.0.0.1. Rejects when the port is taken. */
export async function openNodeServer(options: NodeServerOptions): Promise<NodeServer> {
  const subscribers = createNodeSubscribers();
  const nodeId = randomHex(8).toUpperCase();

  const routes: Readonly<Record<string, Route>> = {
    [nodeOperations.nodeEvents.path]: {
      method: nodeOperations.nodeEvents.method,
      serve(_request, response) {
        response.writeHead(200, { 'content-type': 'application/json', 'litefs-id': nodeId });
        subscribers.add(response, toInitLine(options.role()));
      },
    },
    [nodeOperations.nodeInfo.path]: {
      method: nodeOperations.nodeInfo.method,
      serve: (_request, response) => sendJson(response, 200, toInfo(options)),
    },
    '/role': {
      method: 'POST',
      async serve(request, response) {
        options.onRole(toNodeRole(parseWith(roleRequest, await readJson(request), 'body')));
        sendJson(response, 200, toInfo(options));
      },
    },
    '/restart': {
      method: 'POST',
      async serve(request, response) {
        const { down_ms } = parseWith(restartRequest, await readJson(request), 'body');
        response.once('close', () => options.onRestart(down_ms));
        sendJson(response, 200, { down_ms }, { connection: 'close' });
      },
    },
  };

  const server = nodeHttp.createServer((request, response) => {
    response.on('error', () => undefined);
    const route = routes[(request.url ?? '').split('?')[0] ?? ''];
    if (route === undefined) sendText(response, 404, 'not found');
    else if (route.method !== request.method) sendText(response, 405, 'method not allowed', { allow: route.method });
    else
      Promise.resolve(route.serve(request, response)).catch((error: unknown) => {
        sendError(response, error);
      });
  });
  const { port } = await listenOnLoopback(server, '127.0.0.1', options.port);

  return {
    port,
    publish: (line) => subscribers.publish(line),
    async [Symbol.asyncDispose]() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      subscribers.endAll();
      server.closeIdleConnections();
      const cut = setTimeout(() => server.closeAllConnections(), CLOSE_MS);
      await closed;
      clearTimeout(cut);
    },
  };
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const form = { type: 'json', cap_bytes: BODY_CAP_BYTES } as const;
  checkBody(request, form);
  return parseBody(await readBody(request, form), form.type);
}

interface Route {
  readonly method: string;
  serve(request: IncomingMessage, response: ServerResponse): void | Promise<void>;
}

function toNodeRole(request: z.output<typeof roleRequest>): NodeRole {
  return request.role === 'primary' ? { role: 'primary' } : { role: 'replica', hostname: request.hostname };
}

function toInfo(options: NodeServerOptions): NodeInfo {
  const role = options.role();
  const known = role.role === 'replica' && role.hostname !== undefined ? { primary: { hostname: role.hostname } } : {};
  return { isPrimary: role.role === 'primary', candidate: true, path: options.dir, ...known };
}

function sendText(
  response: ServerResponse,
  status: number,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', ...headers }).end(`${text}\n`);
}
