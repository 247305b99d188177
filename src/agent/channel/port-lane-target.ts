// The targets `lane:port:N:…` and `lane:web:…` of a channel: a connection to the platform beside the channel, joined to one to a port of this
// machine. Their bytes are passed on unread. Nothing is started for a lane, and nobody waits for it: the platform has streams besides.
import { once } from 'node:events';
import type { Http2Session, ServerHttp2Stream } from 'node:http2';
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { HTTP_AUTHORITY, PORT_AUTHORITY, PORT_LANE_AUTHORITY } from '../../contract/channel.ts';
import type { ChannelTarget } from './channel-target.ts';
import { toListenerHost } from './listener-host.ts';
import { openLane } from './open-lane.ts';
import type { PortTargetOptions } from './port-target.ts';

export interface PortLaneTargetOptions extends Pick<PortTargetOptions, 'find' | 'isOwn' | 'begin' | 'findHttpPort'> {
  /** Opens the lane. */
  readonly dial: (lane_id: string, signal: AbortSignal) => Promise<Duplex>;
  /** Whether no other call has come just now. */
  readonly mayHurry: () => boolean;
}

const CONNECT_MS = 1_000;
const OK = 200;
const NOT_FOUND = 404;

export function createPortLaneTarget(options: PortLaneTargetOptions): ChannelTarget {
  const { dial, find, isOwn, begin, findHttpPort, mayHurry } = options;
  /** The lanes of each channel, which end with it. */
  const channels = new WeakMap<Http2Session, Set<Duplex>>();

  function endWith(session: Http2Session, lane: Duplex): void {
    const lanes = channels.get(session) ?? new Set();
    if (!channels.has(session)) {
      channels.set(session, lanes);
      session.once('close', () => {
        for (const each of lanes) each.destroy();
      });
    }
    lanes.add(lane);
    lane.once('close', () => lanes.delete(lane));
  }

  async function open(stream: ServerHttp2Stream, authority: string, lane_id: string): Promise<void> {
    const port = authority === HTTP_AUTHORITY ? await findHttpPort() : Number(PORT_AUTHORITY.exec(authority)?.[1]);
    const { session } = stream;
    if (stream.destroyed || session === undefined) return;
    const listener = find(port);
    if (listener === undefined || !isOwn(listener.pid)) {
      stream.respond({ ':status': NOT_FOUND }, { endStream: true });
      return;
    }
    using counting = new DisposableStack();
    counting.use(begin(port));
    const opened = await openLane(stream, {
      dial: (signal) => dial(lane_id, signal),
      connect: (signal) => connectTo(port, toListenerHost(listener), signal),
      mayHurry,
    });
    if (opened === undefined) return;
    const { lane, other } = opened;
    const counted = counting.move();
    lane.once('close', () => {
      other.destroy();
      counted.dispose();
    });
    endWith(session, lane);
    // The stream has said all: the lane takes none of the streams that a channel may have.
    stream.respond({ ':status': OK });
    stream.resume().end();
  }

  return (asked, stream) => {
    const [, authority, lane_id] = PORT_LANE_AUTHORITY.exec(asked) ?? [];
    if (authority === undefined || lane_id === undefined) return false;
    open(stream, authority, lane_id).catch(() => stream.destroy());
    return true;
  };
}

async function connectTo(port: number, host: string, signal: AbortSignal): Promise<Socket> {
  // A socket that answers an end by its own would cut what it has sent and the lane still holds.
  const socket = connect({ host, port, timeout: CONNECT_MS, allowHalfOpen: true });
  socket.on('error', ignore).once('timeout', () => socket.destroy(new Error(`port ${port} does not answer`)));
  const onGone = () => socket.destroy(new Error('nobody waits any more'));
  signal.addEventListener('abort', onGone);
  try {
    await once(socket, 'connect');
  } finally {
    signal.removeEventListener('abort', onGone);
  }
  // It is quiet until the lane is there, however long that takes.
  return socket.setTimeout(0);
}

/** A connection that breaks also closes, and the close is what is watched. */
function ignore(): void {}
