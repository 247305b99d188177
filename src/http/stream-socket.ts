// Lets a stream of HTTP/2 stand where node:http, undici and ws expect a TCP socket.
import type { Http2Stream } from 'node:http2';
import type { Duplex } from 'node:stream';

/** What a socket has and a stream lacks. None of it means anything on a stream. */
const absent = ['setNoDelay', 'setKeepAlive', 'ref', 'unref'] as const;

/**
 * The stream itself. When the other end vanishes, a stream ends as if all had been sent, and when its session does, it closes without an error;
 * the result then breaks with ECONNRESET, so that no reader takes a part for the whole.
 */
export function toStreamSocket(stream: Http2Stream): Duplex {
  for (const name of absent) Reflect.set(stream, name, () => stream);
  writeBytesOnly(stream);
  stream.once('aborted', () => stream.destroy(new BrokenOff()));
  breakWithSession(stream);
  return stream;
}

function breakWithSession(stream: Http2Stream): void {
  const { session } = stream;
  const destroy = stream._destroy.bind(stream);
  // What breaks also closes, and the close is what most watch.
  stream.on('error', () => undefined);
  Reflect.set(stream, '_destroy', (error: Error | null, callback: (error?: Error | null) => void) => {
    const isCut = !stream.readableEnded && (session === undefined || session.destroyed);
    destroy(error, (failure) => callback(failure ?? (isCut ? new BrokenOff() : null)));
  });
}

/**
 * Makes bytes of every text before the stream gets it. Node 26 frees the memory of a text that is written together with bytes before it
 * has sent it: node:http writes a head as text and its body as bytes, and the peer would read foreign memory in place of the head.
 */
function writeBytesOnly(stream: Http2Stream): void {
  for (const name of ['write', 'end'] as const) {
    const send = stream[name].bind(stream) as (chunk: unknown, ...rest: unknown[]) => unknown;
    Reflect.set(stream, name, (chunk: unknown, ...rest: unknown[]) => {
      if (typeof chunk !== 'string') return send(chunk, ...rest);
      const encoding = typeof rest[0] === 'string' ? (rest[0] as BufferEncoding) : undefined;
      return send(Buffer.from(chunk, encoding), ...(encoding === undefined ? rest : rest.slice(1)));
    });
  }
}

class BrokenOff extends Error {
  readonly code = 'ECONNRESET';

  constructor() {
    super('the channel was cut');
  }
}
