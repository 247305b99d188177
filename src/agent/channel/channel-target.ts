// What a stream of a channel may be for. The protocol of the channel itself is loaded when it is dialled.
import type { ServerHttp2Stream } from 'node:http2';
import type { Duplex } from 'node:stream';
import { toStreamSocket } from '../../http/stream-socket.ts';

/** Takes over the stream when the authority is its own; false when it is not. It answers the CONNECT itself. */
export type ChannelTarget = (authority: string, stream: ServerHttp2Stream) => boolean;

/** Hands the streams of `authority` to a server of HTTP/1.1 as connections. */
export function toServerTarget(
  authority: string,
  server: { emit(event: 'connection', socket: Duplex): unknown },
): ChannelTarget {
  return (asked, stream) => {
    if (asked !== authority) return false;
    stream.respond({ ':status': 200 });
    server.emit('connection', toStreamSocket(stream));
    return true;
  };
}
