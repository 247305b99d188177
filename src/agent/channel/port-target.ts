// The target `port:N` of a channel: a TCP connection to a port at which a process of this machine listens.
import { constants, type ServerHttp2Stream } from 'node:http2';
import { connect } from 'node:net';
import { pipeline } from 'node:stream';
import { PORT_AUTHORITY } from '../../contract/channel.ts';
import { isLoopback } from '../../http/is-loopback.ts';
import { toStreamSocket } from '../../http/stream-socket.ts';
import type { ChannelTarget } from './serve-channel.ts';

/** What listens at a port. */
export interface PortListener {
  readonly pid: number;
  /** Bind addresses, the widest first. */
  readonly addresses: readonly string[];
}

export interface PortTargetOptions {
  /** Undefined when nothing listens there, or only the agent itself. */
  readonly find: (port: number) => PortListener | undefined;
  /** Whether the process belongs to this machine. Others may share its network. */
  readonly isOwn: (pid: number) => boolean;
  /** Counts a connection until its disposal. */
  readonly begin: (port: number) => Disposable;
}

const CONNECT_MS = 5_000;
const { HTTP_STATUS_FORBIDDEN, HTTP_STATUS_NOT_FOUND, HTTP_STATUS_OK, NGHTTP2_CONNECT_ERROR } = constants;

export function createPortTarget({ find, isOwn, begin }: PortTargetOptions): ChannelTarget {
  return (authority, stream) => {
    const port = PORT_AUTHORITY.exec(authority)?.[1];
    if (port === undefined) return false;
    const listener = find(Number(port));
    if (listener === undefined) refuse(stream, HTTP_STATUS_NOT_FOUND);
    else if (!isOwn(listener.pid)) refuse(stream, HTTP_STATUS_FORBIDDEN);
    else {
      const open = begin(Number(port));
      stream.once('close', () => open[Symbol.dispose]());
      join(stream, Number(port), toHost(listener));
    }
    return true;
  };
}

/** Accepts the stream once the connection is there: a refused one could not be told from one that broke off afterwards. */
function join(stream: ServerHttp2Stream, port: number, host: string): void {
  const socket = connect({ host, port, timeout: CONNECT_MS });
  const giveUp = () => {
    socket.destroy();
    refuse(stream, HTTP_STATUS_NOT_FOUND);
  };
  stream.once('close', () => socket.destroy());
  socket.once('error', giveUp).once('timeout', giveUp);
  socket.once('connect', () => {
    socket.off('error', giveUp).off('timeout', giveUp).setTimeout(0).setNoDelay(true);
    stream.respond({ ':status': HTTP_STATUS_OK });
    const near = toStreamSocket(stream);
    socket.on('error', () => stream.close(NGHTTP2_CONNECT_ERROR));
    pipeline(near, socket, ignore);
    pipeline(socket, near, ignore);
  });
}

function toHost({ addresses }: PortListener): string {
  const first = addresses[0] ?? '127.0.0.1';
  if (first === '0.0.0.0' || isLoopback(first)) return first === '0.0.0.0' ? '127.0.0.1' : first;
  return first === '::' ? '::1' : first;
}

function refuse(stream: ServerHttp2Stream, status: number): void {
  if (!stream.destroyed && !stream.headersSent) stream.respond({ ':status': status }, { endStream: true });
}

/** A stream that breaks also closes, and the close is what is watched. */
function ignore(): void {}
