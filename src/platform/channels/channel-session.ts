// The platform's end of one channel: an HTTP/2 client on a connection that the machine's agent dialled. What comes over it is written by
// root in that machine, so that everything is bounded.
import { type ClientHttp2Session, connect as connectHttp2, constants, type IncomingHttpHeaders } from 'node:http2';
import type { Duplex } from 'node:stream';
import type { Dispatcher } from 'undici';
import { AGENT_AUTHORITY, type LaneOperation, PORT_AUTHORITY } from '../../contract/channel.ts';
import type { MachineIncarnation } from '../../contract/resume-reports.ts';
import {
  HEADER_LIST_BYTES,
  MAX_INFORMATIONAL,
  MAX_STREAMS,
  MAX_UNANSWERED_PINGS,
  MISSED_PINGS,
  NO_SESSION_MEMORY_LIMIT_MB,
  PING_INTERVAL_MS,
  SERVICE_WAIT_MS,
  SESSION_WINDOW_BYTES,
  STREAM_WINDOW_BYTES,
} from '../../core/channel-limits.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { destroySession, setSessionWindow } from '../../http/destroy-session.ts';
import { joinAnswerChunks } from '../../http/join-answer-chunks.ts';
import { pingSession } from '../../http/session-pings.ts';
import { toStreamSocket } from '../../http/stream-socket.ts';
import { Pool } from '../../http/undici.ts';
import { HeldBytes } from './held-bytes.ts';
import { overLane } from './lane-calls.ts';
import type { LaneCounts } from './lane-counts.ts';
import { createLanes, type Lanes } from './lanes.ts';
import { meterConnection } from './metered-connection.ts';
import { toServiceRefusal } from './service-refusal.ts';

export interface ChannelSession {
  readonly machine_id: string;
  readonly sprite_id: string;
  /** The incarnation that opened it. */
  readonly incarnation: MachineIncarnation;
  /** Calls of the agent's operations. */
  readonly dispatcher: Dispatcher;
  /** The same, for calls of an operation whose large ones get a connection of their own. */
  readonly bulk: Readonly<Record<LaneOperation, Dispatcher>>;
  readonly lanes: Lanes;
  /**
   * Opens a connection to a target of the machine. Rejects with `not_found` when the agent has no such target or nothing listens there,
   * with `service_stopped` or `upstream_failed` when the service of a port does not listen, and with the latter when the channel is gone.
   */
  connect(authority: string, signal?: AbortSignal): Promise<Duplex>;
  /** How many streams are open. */
  readonly streams: number;
  /** How much memory waits for readers. */
  readonly held_bytes: number;
  /** Cuts every stream. */
  close(reason: string): void;
}

export interface ChannelSessionOptions {
  readonly machine_id: string;
  readonly sprite_id: string;
  readonly incarnation: MachineIncarnation;
  readonly socket: Duplex;
  readonly pingInterval_ms?: number | undefined;
  /** Whether so much waits for readers that nothing more may be read for now. */
  readonly isFull: (session: ChannelSession) => boolean;
  /** Counts its lanes. */
  readonly laneCounts: LaneCounts;
  /** Runs once, when nothing can be opened any more. `isFault`: for what came over it, which no agent sends. */
  readonly onClose: (session: ChannelSession, reason: string, isFault: boolean) => void;
}

/** How long the agent may take to answer a CONNECT. */
const CONNECT_MS = 10_000;
/** The same for a port, whose service may have to be started. */
const PORT_CONNECT_MS = SERVICE_WAIT_MS + CONNECT_MS;
/** The agent keeps a quiet connection for 65 s; the platform leaves first, so that no call meets a connection that is just closed. */
const KEEP_ALIVE_MS = 30_000;

/** What node:http2 says of a peer that breaks the rules. */
const PROTOCOL_ERRORS = ['ERR_HTTP2_ERROR', 'ERR_HTTP2_TOO_MANY_INVALID_FRAMES'];

export function openChannelSession(options: ChannelSessionOptions): ChannelSession {
  const { machine_id, sprite_id, incarnation, socket } = options;
  const held = new HeldBytes();
  const connection = meterConnection(socket, { onRefused: cut, isFull: () => options.isFull(opened) });
  const session = connectHttp2('http://channel', {
    createConnection: () => connection,
    settings: { enablePush: false, initialWindowSize: STREAM_WINDOW_BYTES, maxHeaderListSize: HEADER_LIST_BYTES },
    maxSessionMemory: NO_SESSION_MEMORY_LIMIT_MB,
    maxOutstandingPings: MAX_UNANSWERED_PINGS,
    peerMaxConcurrentStreams: MAX_STREAMS,
    maxReservedRemoteStreams: 0,
  });
  let reason = 'the agent closed it';
  let isFault = false;
  let isOver = false;
  let streams = 0;

  /** The other end is no agent, or not as one is. */
  function cut(why: string): void {
    if (session.destroyed) return;
    isFault = true;
    end(why);
  }

  /** The session closes in a later turn, and nobody may find it until then. */
  function end(why: string): void {
    if (!isOver) reason = why;
    destroySession(session, connection);
    onOver();
  }

  function onOver(): void {
    if (isOver) return;
    isOver = true;
    lanes.end();
    opened.dispatcher.destroy(toGone(reason)).catch(ignore);
    options.onClose(opened, reason, isFault);
  }

  async function connect(authority: string, signal?: AbortSignal): Promise<Duplex> {
    if (session.closed || session.destroyed) throw toGone(reason);
    if (streams >= MAX_STREAMS) {
      throw new RemoraError('too_many_requests', `${MAX_STREAMS} streams to this machine are open; let some finish`);
    }
    streams += 1;
    const stream = session.request({ ':method': 'CONNECT', ':authority': authority });
    stream.once('close', () => {
      streams -= 1;
    });
    let informational = 0;
    stream.on('headers', () => {
      informational += 1;
      if (informational > MAX_INFORMATIONAL) cut('too many informational answers');
    });
    held.follow(stream);
    const limit_ms = PORT_AUTHORITY.test(authority) ? PORT_CONNECT_MS : CONNECT_MS;
    try {
      await answered(
        stream,
        AbortSignal.any([AbortSignal.timeout(limit_ms), ...(signal === undefined ? [] : [signal])]),
      );
    } catch (error) {
      stream.on('error', ignore).close(constants.NGHTTP2_CANCEL);
      throw error;
    }
    return toStreamSocket(stream);
  }

  const dispatcher = new Pool('http://agent', {
    connect: joinAnswerChunks((_options, callback) => {
      connect(AGENT_AUTHORITY).then(
        // undici asks a socket for no more than a Duplex has.
        (stream) => callback(null, stream as never),
        (error: Error) => callback(error, null),
      );
    }),
    connections: MAX_STREAMS,
    pipelining: 1,
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: KEEP_ALIVE_MS,
    allowH2: false,
  });
  const lanes = createLanes({ connect, counts: options.laneCounts, now_ms: () => performance.now() });
  const opened: ChannelSession = {
    machine_id,
    sprite_id,
    incarnation,
    dispatcher,
    bulk: {
      readFile: dispatcher.compose(overLane(lanes, 'readFile')),
      writeFile: dispatcher.compose(overLane(lanes, 'writeFile')),
    },
    lanes,
    connect,
    get streams() {
      return streams;
    },
    get held_bytes() {
      return held.total;
    },
    close: end,
  };

  setSessionWindow(session, SESSION_WINDOW_BYTES);
  session.on('stream', (stream) => stream.on('error', ignore).close(constants.NGHTTP2_REFUSED_STREAM));
  session.on('error', (error: NodeJS.ErrnoException) => {
    if (isFault) return;
    reason = error.message;
    isFault = PROTOCOL_ERRORS.includes(error.code ?? '');
  });
  session.once('close', onOver);
  // A session whose last write never ends does not close with its connection. One that does says why in this turn.
  connection.once('close', () => setImmediate(onOver));
  const interval_ms = options.pingInterval_ms ?? PING_INTERVAL_MS;
  pingSession(session, { interval_ms, missed: MISSED_PINGS, isDeaf: () => options.isFull(opened) }, () => {
    end('the agent answers no ping');
  });
  return opened;
}

/** Resolves when the agent has accepted the CONNECT. */
function answered(stream: ReturnType<ClientHttp2Session['request']>, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const onAbort = () => reject(new RemoraError('upstream_timeout', 'the agent did not answer in time'));
  const onError = (error: Error) => reject(toGone(error.message));
  const onClose = () => reject(toGone('the channel was cut'));
  const onResponse = (headers: IncomingHttpHeaders) => {
    const status = Number(headers[':status']);
    if (status === constants.HTTP_STATUS_OK) resolve();
    else if (status === constants.HTTP_STATUS_FORBIDDEN)
      reject(new RemoraError('forbidden', 'the agent refuses this port'));
    else reject(toServiceRefusal(headers) ?? new RemoraError('not_found', 'nothing listens there'));
  };
  stream.once('response', onResponse).once('error', onError).once('close', onClose);
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  return promise.finally(() => {
    stream.off('response', onResponse).off('error', onError).off('close', onClose);
    signal.removeEventListener('abort', onAbort);
  });
}

function toGone(reason: string): RemoraError {
  return new RemoraError('upstream_failed', `the channel to the machine is gone: ${reason}`);
}

/** A stream that breaks also closes, and the close is what is watched. */
function ignore(): void {}
