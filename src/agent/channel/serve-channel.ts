// Serves one channel: the agent is the HTTP/2 server on a connection that it has dialled, and every stream is a CONNECT to one of its
// targets.
import { constants, type IncomingHttpHeaders, performServerHandshake, type ServerHttp2Stream } from 'node:http2';
import type { Duplex } from 'node:stream';
import {
  HEADER_LIST_BYTES,
  MAX_STREAMS,
  MISSED_PINGS,
  NO_SESSION_MEMORY_LIMIT_MB,
  PING_INTERVAL_MS,
  SESSION_WINDOW_BYTES,
  STREAM_WINDOW_BYTES,
} from '../../core/channel-limits.ts';
import { cutSocket } from '../../http/cut-socket.ts';
import { destroySession, setSessionWindow } from '../../http/destroy-session.ts';
import { pingSession } from '../../http/session-pings.ts';
import type { ChannelTarget } from './channel-target.ts';

export interface ServeChannelOptions {
  readonly targets: readonly ChannelTarget[];
  readonly pingInterval_ms?: number;
  /**
   * The platform uses this channel, or says goodbye to a machine that stands still: however short it was open, its end is no failure. A
   * goodbye is lost where the platform hangs up with something unread.
   */
  readonly onProved?: () => void;
  /** Runs once, with the reason when the connection did not end as it should. */
  readonly onClose: (reason: string | undefined) => void;
}

export interface ServedChannel {
  /** Closes the connection and sends nothing more. The result cuts the streams. */
  cut(): () => void;
  /** Cuts every stream, and the connection. */
  destroy(): void;
}

export function serveChannel(socket: Duplex, options: ServeChannelOptions): ServedChannel {
  const session = performServerHandshake(socket, {
    settings: {
      initialWindowSize: STREAM_WINDOW_BYTES,
      maxConcurrentStreams: MAX_STREAMS * LATE,
      maxHeaderListSize: HEADER_LIST_BYTES,
    },
    maxSessionMemory: NO_SESSION_MEMORY_LIMIT_MB,
    // The platform resets a stream for each caller that goes away: the limits that node:http2 has for the open internet would end the
    // whole channel after a thousand of them.
    streamResetBurst: 100_000,
    streamResetRate: 10_000,
    maxSessionRejectedStreams: 100_000,
  });
  let reason: string | undefined;
  setSessionWindow(session, SESSION_WINDOW_BYTES);
  session.once('goaway', (code) => {
    if (code === constants.NGHTTP2_NO_ERROR) options.onProved?.();
  });
  session.once('stream', () => options.onProved?.());
  session.on('stream', (stream, headers) => {
    stream.on('error', ignore);
    if (!isTaken(stream, headers, options.targets)) refuse(stream, headers);
  });
  session.on('error', (error) => {
    reason ??= error.message;
  });
  session.once('close', () => options.onClose(reason));
  pingSession(session, { interval_ms: options.pingInterval_ms ?? PING_INTERVAL_MS, missed: MISSED_PINGS }, () => {
    reason = 'the platform answers no ping';
    destroySession(session, socket);
  });
  return {
    cut() {
      const release = cutSocket(socket);
      return () => {
        session.destroy();
        release();
      };
    },
    destroy: () => destroySession(session, socket),
  };
}

/**
 * The platform opens no more than `MAX_STREAMS`. Those that it has reset count here until this end has taken them down, which a busy machine
 * does late: many callers who go away at once would otherwise cost others their streams, and then the channel.
 */
const LATE = 8;

function isTaken(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, targets: readonly ChannelTarget[]): boolean {
  const authority = headers[':authority'];
  if (headers[':method'] !== 'CONNECT' || authority === undefined) return false;
  return targets.some((target) => target(authority, stream));
}

function refuse(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
  const isConnect = headers[':method'] === 'CONNECT';
  stream.respond(
    { ':status': isConnect ? constants.HTTP_STATUS_NOT_FOUND : constants.HTTP_STATUS_METHOD_NOT_ALLOWED },
    { endStream: true },
  );
}

/** A stream that breaks also closes, and the close is what is watched. */
function ignore(): void {}
