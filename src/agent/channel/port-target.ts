// The targets `port:N` and `web` of a channel: a TCP connection to a port at which a process of this machine listens.
import type { OutgoingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { connect } from 'node:net';
import { pipeline } from 'node:stream';
import { HTTP_AUTHORITY, PORT_AUTHORITY, PORT_REFUSAL } from '../../contract/channel.ts';
import { errorStatus } from '../../contract/errors.ts';
import type { ServiceStatus } from '../../contract/services.ts';
import { toStreamSocket } from '../../http/stream-socket.ts';
import type { ChannelTarget } from './channel-target.ts';
import { type PortListener, toListenerHost } from './listener-host.ts';

export interface PortTargetOptions {
  /** Undefined when nothing listens there, or only the agent itself. */
  readonly find: (port: number) => PortListener | undefined;
  /** Whether the process belongs to this machine. Others may share its network. */
  readonly isOwn: (pid: number) => boolean;
  /** Counts a connection until its disposal. */
  readonly begin: (port: number) => Disposable;
  /** Starts what should listen there. Resolves when it does or nothing is to, or with the reason to refuse. */
  readonly waitForService: (port: number) => Promise<PortRefusal | undefined>;
  /** The port at which the sprite serves HTTP. */
  readonly findHttpPort: () => Promise<number>;
}

/** The service of a port, in a state in which it does not listen. */
export interface PortRefusal {
  readonly service: string;
  readonly status: ServiceStatus;
}

const CONNECT_MS = 5_000;
const OK = 200;
const FORBIDDEN = 403;
const NOT_FOUND = 404;
const BAD_GATEWAY = 502;

export function createPortTarget(options: PortTargetOptions): ChannelTarget {
  const { find, isOwn, begin, waitForService } = options;

  /** What was seen of the port may be old: its process may have ended since. */
  async function openLater(stream: ServerHttp2Stream, port: number): Promise<void> {
    const refusal = await waitForService(port);
    const listener = find(port);
    if (refusal !== undefined) refuseFor(stream, refusal);
    else if (listener === undefined) refuse(stream, NOT_FOUND);
    else if (!isOwn(listener.pid)) refuse(stream, FORBIDDEN);
    else if (!stream.destroyed) join(stream, port, toListenerHost(listener), () => refuse(stream, NOT_FOUND));
  }

  function open(stream: ServerHttp2Stream, port: number): void {
    if (stream.destroyed) return;
    const counted = begin(port);
    stream.once('close', () => counted[Symbol.dispose]());
    const listener = find(port);
    const later = () => openLater(stream, port).catch(() => refuse(stream, BAD_GATEWAY));
    if (listener !== undefined && isOwn(listener.pid)) join(stream, port, toListenerHost(listener), later);
    else void later();
  }

  return (authority, stream) => {
    const port = PORT_AUTHORITY.exec(authority)?.[1];
    if (port !== undefined) open(stream, Number(port));
    else if (authority !== HTTP_AUTHORITY) return false;
    else {
      options.findHttpPort().then(
        (found) => open(stream, found),
        () => refuse(stream, BAD_GATEWAY),
      );
    }
    return true;
  };
}

/** Accepts the stream once the connection is there: a refused one could not be told from one that broke off afterwards. */
function join(stream: ServerHttp2Stream, port: number, host: string, onRefused: () => void): void {
  // A socket that answers an end by its own would cut what it has sent and the stream still holds.
  const socket = connect({ host, port, timeout: CONNECT_MS, allowHalfOpen: true });
  const giveUp = () => {
    socket.destroy();
    onRefused();
  };
  stream.once('close', () => socket.destroy());
  socket.once('error', giveUp).once('timeout', giveUp);
  socket.once('connect', () => {
    socket.off('error', giveUp).off('timeout', giveUp).setTimeout(0).setNoDelay(true);
    stream.respond({ ':status': OK });
    const near = toStreamSocket(stream);
    // What breaks destroys the other one, and only that resets the stream: `close` would first let it be destroyed without a word.
    pipeline(near, socket, ignore);
    pipeline(socket, near, ignore);
  });
}

function refuseFor(stream: ServerHttp2Stream, { service, status }: PortRefusal): void {
  const error = status === 'stopped' ? 'service_stopped' : 'upstream_failed';
  refuse(stream, errorStatus[error], {
    [PORT_REFUSAL.error]: error,
    [PORT_REFUSAL.service]: service,
    [PORT_REFUSAL.state]: status,
  });
}

function refuse(stream: ServerHttp2Stream, status: number, headers: OutgoingHttpHeaders = {}): void {
  if (!stream.destroyed && !stream.headersSent) stream.respond({ ...headers, ':status': status }, { endStream: true });
}

/** A stream that breaks also closes, and the close is what is watched. */
function ignore(): void {}
