// The way into a sprite for commands: typed calls, raw requests and WebSockets, with errors that people can read.
import { WebSocket } from 'ws';
import { type Client, createClient } from '../../client/client.ts';
import { toConnectionFailure, toRefusal } from '../../client/failure.ts';
import { readText } from '../../client/read-answer.ts';
import { UpstreamError } from '../../client/upstream-error.ts';
import { insideOperations } from '../../contract/local/inside.ts';
import { ownNetworkOperations } from '../../contract/local/own-network.ts';
import { ownSpriteOperations } from '../../contract/local/own-sprite.ts';
import { localUpgradeOperations } from '../../contract/local/upgrade.ts';
import type { Answer, RequestOptions } from '../../http/request.ts';
import { toPlainError } from '../agent-client.ts';
import type { Invocation } from '../command.ts';
import { UnreachableError } from '../exit-code.ts';
import { openConnections } from '../open-connections.ts';
import { type Entrance, findEntrance } from './entrance.ts';

/** A machine may have to be booted first, by an emulated processor. */
const TIMEOUT_MS = 330_000;
/** A server in between takes a connection without a byte for one that is gone, nginx after a minute. */
const KEEP_ALIVE_S = 15;
const FRAME_CAP_BYTES = 64 * 1024 * 1024;

const { explainNetworkPolicy, listRefusedConnections } = ownNetworkOperations;
const operations = {
  ...insideOperations,
  ...ownSpriteOperations,
  ...localUpgradeOperations,
  ...{ explainNetworkPolicy, listRefusedConnections },
} as const;

export interface RawRequest {
  readonly method: string;
  /** The path below the sprite, such as `/fs/read`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: RequestOptions['body'];
  readonly signal?: AbortSignal;
}

export interface SpriteDoor extends AsyncDisposable {
  /** Undefined for the sprite of this machine. */
  readonly sprite: string | undefined;
  readonly client: Client<typeof operations>;
  /** Any answer, also a refusal. Throws UpstreamError where nobody answers, and what breaks the exchange or its body as it is. */
  request(request: RawRequest): Promise<Answer>;
  /**
   * Resolves when the handshake is done, with a socket that is paused, so that no frame is missed. `target` is below the sprite, such as
   * `/exec?cmd=ls`. Throws UpstreamError.
   */
  openWebSocket(target: string, signal?: AbortSignal): Promise<WebSocket>;
}

/** Resolves as `work` does. `sprite`: one that an operand names. Throws UsageError, UnreachableError, and what `work` throws. */
export async function askInside<T>(
  invocation: Pick<Invocation, 'text' | 'env' | 'out'>,
  work: (door: SpriteDoor) => Promise<T>,
  sprite?: string,
): Promise<T> {
  const entrance = findEntrance(invocation, sprite);
  await using door = openDoor(entrance);
  try {
    return await work(door);
  } catch (error) {
    throw toPlain(error, entrance);
  }
}

export function openDoor(entrance: Entrance): SpriteDoor {
  const { sprite, origin, socketPath, prefix, token } = entrance;
  const connections = openConnections(socketPath);
  const headers = () => ({
    ...entrance.headers,
    ...(token === undefined ? {} : { authorization: `Bearer ${token.reveal()}` }),
  });
  const options = {
    origin,
    dispatcher: () => connections,
    headers,
    timeout_ms: TIMEOUT_MS,
    keepAlive_s: KEEP_ALIVE_S,
  };
  const { origin: host, pathname } = new URL(origin);
  const base = `${pathname.replace(/\/$/, '')}${prefix}`;
  return {
    sprite,
    client: createClient(toOperations(prefix), options),
    async request({ method, path, query = {}, headers: own, body, signal }) {
      const given = Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined);
      const search = given.length === 0 ? '' : `?${new URLSearchParams(given)}`;
      try {
        return await connections.request({
          origin: host,
          path: `${base}${path}${search}`,
          method,
          headers: { ...headers(), ...own },
          body: body ?? null,
          ...(signal === undefined ? {} : { signal }),
        });
      } catch (error) {
        const failure = toConnectionFailure(error);
        throw failure instanceof UpstreamError && !failure.sent ? failure : error;
      }
    },
    openWebSocket(target, signal) {
      const address = `${base}${target}`;
      const url =
        socketPath === undefined ? `${host.replace(/^http/, 'ws')}${address}` : `ws+unix:${socketPath}:${address}`;
      return connect(url, headers(), signal);
    },
    [Symbol.asyncDispose]: () => connections[Symbol.asyncDispose](),
  };
}

/** The operations as they are served behind this entrance: the name of the sprite is a part of the path. */
function toOperations(prefix: string): typeof operations {
  const moved = Object.entries(operations).map(([id, operation]) => [
    id,
    { ...operation, path: operation.path.replace(/^\/v1/, prefix) },
  ]);
  return Object.fromEntries(moved) as typeof operations;
}

function connect(url: string, headers: Readonly<Record<string, string>>, signal: AbortSignal | undefined) {
  const socket = new WebSocket(url, {
    headers,
    perMessageDeflate: false,
    maxPayload: FRAME_CAP_BYTES,
    handshakeTimeout: TIMEOUT_MS,
  });
  const giveUp = () => socket.terminate();
  if (signal?.aborted === true) giveUp();
  signal?.addEventListener('abort', giveUp, { once: true });
  return new Promise<WebSocket>((resolve, reject) => {
    socket.once('open', () => {
      socket.pause();
      resolve(socket);
    });
    socket.on('error', (error) => reject(toConnectionFailure(error)));
    socket.once('unexpected-response', (_request, response) => {
      const { statusCode: status = 0 } = response;
      readText(response)
        .catch(() => '')
        .then((text) => reject(toRefusal({ status, text, headers: response.headers })))
        .finally(giveUp);
    });
  }).finally(() => signal?.removeEventListener('abort', giveUp));
}

function toPlain(error: unknown, { sprite, origin, socketPath }: Entrance): unknown {
  if (!(error instanceof UpstreamError) || error.status !== undefined) return error;
  if (sprite === undefined) return toPlainError(error, socketPath ?? '');
  if (error.code !== 'connection_failed' && error.code !== 'timeout') return error;
  return new UnreachableError(`no platform answers at ${socketPath ?? origin}: ${error.message}`, { cause: error });
}
