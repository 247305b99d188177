// Joins small chunks of request bodies before the parser of a server sees them: the parser makes one call for each chunk, so that a
// body in chunks of one byte would cost a thousand times as much as in one piece. To join, it reads heads and chunks by itself, and
// it refuses a request that the parser of the server framed in another way.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { RequestJoiner, type SeenRequest } from '../core/http/request-joiner.ts';
import { RemoraError } from '../core/remora-error.ts';
import { joinReads } from './join-reads.ts';

export interface Framing {
  /**
   * Call it with every request in its order, before it is served. Returns `invalid_request` for a request that the parser has
   * read in another way than the joiner. A connection that is no longer followed is closed after its answer.
   */
  check(request: IncomingMessage, response: ServerResponse): RemoraError | undefined;
  /** Call it when the connection of this request is switched to another protocol. */
  onSwitched(request: IncomingMessage): void;
  /** Call it once for each request that was checked, when its answer is over. */
  onAnswered(request: IncomingMessage): void;
}

/** Where a socket keeps what follows it. */
const FOLLOWED = Symbol('followed');

interface Followed {
  readonly joiner: RequestJoiner;
  /** Goes on with the bytes that had to wait for an answer. */
  readonly resume: () => void;
}

interface FollowedSocket extends Socket {
  [FOLLOWED]?: Followed;
}

/** Must be called before the server accepts; `event` is the one with which it does. */
export function joinRequestChunks(server: Server, event = 'connection'): Framing {
  server.on(event, (socket: FollowedSocket) => {
    const joiner = new RequestJoiner();
    socket[FOLLOWED] = { joiner, ...joinReads(socket, joiner) };
    // A listener of `data` makes node:http read through the stream; without one its parser takes the bytes from the kernel by
    // itself.
    socket.on('data', ignore).off('data', ignore);
  });
  return {
    check(request, response) {
      const joiner = followedOf(request)?.joiner;
      const seen = joiner?.next();
      const isKnown = seen !== undefined && isSame(request, seen);
      if (!isKnown || joiner?.isAtEnd === true) response.shouldKeepAlive = false;
      if (isKnown) return undefined;
      return new RemoraError('invalid_request', 'where this request begins and ends cannot be told for certain');
    },
    onSwitched(request) {
      const followed = followedOf(request);
      followed?.joiner.onSwitched();
      followed?.resume();
    },
    onAnswered(request) {
      const followed = followedOf(request);
      followed?.joiner.onAnswered();
      followed?.resume();
    },
  };
}

function followedOf({ socket }: IncomingMessage): Followed | undefined {
  return (socket as FollowedSocket)[FOLLOWED];
}

function isSame({ method, url, httpVersion, headers }: IncomingMessage, seen: SeenRequest): boolean {
  if (seen.line !== `${method} ${url} HTTP/${httpVersion}`) return false;
  if (seen.isChunked) return headers['transfer-encoding'] !== undefined;
  return headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === seen.length_bytes;
}

function ignore(): void {}
