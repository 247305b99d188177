// Joins small chunks of answers before the parser of undici sees them: the parser makes one call for each chunk, so that a body in
// chunks of one byte would cost a hundred times as much as in one piece.
import { subscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import type { buildConnector, Dispatcher } from 'undici';
import { AnswerJoiner } from '../core/http/answer-joiner.ts';
import { informationalSources } from './informational-sources.ts';
import { type JoinedReads, joinReads } from './join-reads.ts';
import { tellBreaks } from './tell-breaks.ts';

/** Published before the head of a request is written, with the connection that takes it. */
const SENT = 'undici:client:sendHeaders';
/** Published for each head of an answer, before anything of its body is read. */
const ANSWERED = 'undici:request:headers';

interface Connection {
  readonly joiner: AnswerJoiner;
  readonly reads: JoinedReads;
}

/** Where a socket and its request keep their connection. A map with weak keys would cost each collection of garbage. */
const CONNECTION = Symbol('connection');

interface Followed {
  [CONNECTION]?: Connection;
}

let isListening = false;

/** A connector for HTTP/1.1 whose connections join the chunks that arrive, and tell a reset from an end. */
export function joinAnswerChunks(connect: buildConnector.connector): buildConnector.connector {
  listen();
  return (options, callback) => {
    connect(options, (...[error, socket]) => {
      if (error !== null) {
        callback(error, null);
        return;
      }
      tellBreaks(socket);
      follow(socket);
      callback(null, socket);
    });
  };
}

function follow(socket: Socket & Followed): void {
  const push = socket.push.bind(socket);
  // The callback runs within the parser, which cannot be entered again; so the bytes follow in the next tick.
  const joiner = new AnswerJoiner((bytes) => process.nextTick(push, bytes));
  socket[CONNECTION] = { joiner, reads: joinReads(socket, joiner) };
}

type RawHeaders = Dispatcher.DispatchController['rawHeaders'];

interface Sent {
  readonly request: Followed;
  readonly socket: Followed;
}

interface Answered {
  readonly request: Followed & { readonly method: string };
  readonly response: { readonly statusCode: number; readonly headers: RawHeaders };
}

function listen(): void {
  if (isListening) return;
  isListening = true;
  subscribe(SENT, (message) => {
    const { request, socket } = message as Sent;
    const connection = socket[CONNECTION];
    if (connection === undefined) return;
    connection.joiner.begin();
    request[CONNECTION] = connection;
  });
  subscribe(ANSWERED, (message) => {
    const { request, response } = message as Answered;
    const connection = request[CONNECTION];
    if (connection === undefined) return;
    const { joiner, reads } = connection;
    const { statusCode, headers } = response;
    joiner.onHead(statusCode, statusCode >= 200 && request.method !== 'HEAD' && isChunked(headers));
    if (statusCode >= 200 || statusCode === 101 || !Array.isArray(headers)) return;
    informationalSources.set(headers, reads);
    // The handler of this head runs next and may pause again, before the next head has its turn.
    reads.resume();
  });
}

/** Makes no text of the headers, of which few have the length of the one that counts. */
function isChunked(headers: RawHeaders): boolean {
  if (!Array.isArray(headers)) return false;
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = headers[index];
    if (name?.length === 17 && name.toString().toLowerCase() === 'transfer-encoding') return true;
  }
  return false;
}
