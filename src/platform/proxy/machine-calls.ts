// The connections through which requests reach a port of a machine: a pool for each channel and port.
import type { Duplex } from 'node:stream';
import type { Dispatcher } from 'undici';
import { HTTP_AUTHORITY, toPortAuthority } from '../../contract/channel.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { joinAnswerChunks } from '../../http/join-answer-chunks.ts';
import { Pool } from '../../http/undici.ts';
import { ConnectionsReplaced } from '../../http/upstream-error.ts';
import type { ChannelSession } from '../channels/channel-session.ts';

/** Fewer than the streams of a channel, so that other calls find room. */
export const CONNECTIONS_MAX = 224;
/** An open connection keeps the machine awake. */
const KEEP_ALIVE_MS = 4_000;
/** Pools of one channel; the one that was not used for the longest time is closed for the next. */
const POOLS_MAX = 64;

export class MachineCalls {
  readonly #pools = new WeakMap<ChannelSession, Map<string, Dispatcher>>();

  /** @param port undefined for the HTTP service of the sprite. */
  dispatcher(channel: ChannelSession, port: number | undefined): Dispatcher {
    const pools = this.#pools.get(channel) ?? new Map<string, Dispatcher>();
    const authority = port === undefined ? HTTP_AUTHORITY : toPortAuthority(port);
    const known = pools.get(authority);
    if (known !== undefined) return known;
    this.#pools.set(channel, pools);
    const pool = openPool(channel, port);
    pools.set(authority, pool);
    const [oldest] = pools;
    if (pools.size > POOLS_MAX && oldest !== undefined) {
      pools.delete(oldest[0]);
      oldest[1].close().catch(() => undefined);
    }
    return pool;
  }
}

/** Opens one connection. Throws what the caller is to read, or `ConnectionsReplaced` when the machine has to be found again. */
export async function connectTo(
  channel: ChannelSession,
  port: number | undefined,
  signal?: AbortSignal,
): Promise<Duplex> {
  try {
    const stream = await channel.connect(port === undefined ? HTTP_AUTHORITY : toPortAuthority(port), signal);
    // A stream that breaks also closes, and the close is what is watched.
    return stream.on('error', () => undefined);
  } catch (error) {
    throw toRefusal(error, port);
  }
}

function openPool(channel: ChannelSession, port: number | undefined): Dispatcher {
  return new Pool('http://machine', {
    connect: joinAnswerChunks((_options, callback) => {
      connectTo(channel, port).then(
        // undici asks a socket for no more than a Duplex has.
        (stream) => callback(null, stream as never),
        (error: Error) => callback(error, null),
      );
    }),
    connections: CONNECTIONS_MAX,
    pipelining: 1,
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    allowH2: false,
  });
}

function toRefusal(error: unknown, port: number | undefined): unknown {
  if (!(error instanceof RemoraError)) return error;
  switch (error.code) {
    case 'not_found': {
      const what = port === undefined ? 'its service with an http_port, or port 8080' : `port ${port}`;
      return new RemoraError('upstream_failed', `nothing listens there: start a server in the machine at ${what}`);
    }
    case 'upstream_failed':
      // Without the name of a service it is the channel that is gone: nothing was sent, and the machine may be back.
      return error.details === undefined ? new ConnectionsReplaced(error.message) : error;
    default:
      return error;
  }
}
