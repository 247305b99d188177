// The connections through which requests reach a port of a machine: streams and lanes for each channel and port.
import type { Duplex } from 'node:stream';
import type { Dispatcher } from 'undici';
import { HTTP_AUTHORITY, toPortAuthority } from '../../contract/channel.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { joinAnswerChunks } from '../../http/join-answer-chunks.ts';
import { Pool } from '../../http/undici.ts';
import { ConnectionsReplaced } from '../../http/upstream-error.ts';
import { LanePlaces } from './lane-places.ts';
import { LanedCalls } from './laned-calls.ts';
import type { MachineReach } from './machine-reach.ts';

/** Fewer than the streams of a channel, so that other calls find room. */
export const CONNECTIONS_MAX = 224;
/** An open connection keeps the machine awake. */
const KEEP_ALIVE_MS = 4_000;
/** Pools of one channel; the one that was not used for the longest time is closed for the next. */
const POOLS_MAX = 64;

/** Where a request goes. */
export interface Way {
  readonly channel: MachineReach;
  /** Undefined for the HTTP service of the sprite. */
  readonly port: number | undefined;
  /** Other machines may take the request when nothing listens there. */
  readonly isOneOfMany?: boolean;
}

/** All connections to one port of a machine. */
interface PortCalls extends Pick<Dispatcher, 'dispatch'> {
  close(): Promise<void>;
}

export class MachineCalls {
  readonly #pools = new WeakMap<MachineReach, Map<string, PortCalls>>();
  readonly #places = new LanePlaces();
  readonly #now_ms: () => number;

  /** `now_ms`: monotonic. */
  constructor(now_ms: () => number) {
    this.#now_ms = now_ms;
  }

  dispatcher(way: Way): Pick<Dispatcher, 'dispatch'> {
    const pools = this.#pools.get(way.channel) ?? new Map<string, PortCalls>();
    const key = `${toAuthority(way.port)}${way.isOneOfMany === true ? ' of many' : ''}`;
    const known = pools.get(key);
    if (known !== undefined) {
      // The last one is the one that was used last.
      pools.delete(key);
      pools.set(key, known);
      return known;
    }
    this.#pools.set(way.channel, pools);
    const pool = this.#open(way);
    pools.set(key, pool);
    const [oldest] = pools;
    if (pools.size > POOLS_MAX && oldest !== undefined) {
      pools.delete(oldest[0]);
      oldest[1].close().catch(() => undefined);
    }
    return pool;
  }

  #open(way: Way): PortCalls {
    const { lanes } = way.channel;
    const streams = openPool(way);
    if (lanes === undefined) return streams;
    return new LanedCalls({
      lanes: lanes.ports,
      authority: toAuthority(way.port),
      streams,
      places: this.#places,
      idle_ms: KEEP_ALIVE_MS,
      now_ms: this.#now_ms,
    });
  }
}

/** Opens one connection. Throws what the caller is to read, or `ConnectionsReplaced` when the machine has to be found again. */
export async function connectTo(way: Way, signal?: AbortSignal): Promise<Duplex> {
  try {
    const stream = await way.channel.connect(toAuthority(way.port), signal);
    // A stream that breaks also closes, and the close is what is watched.
    return stream.on('error', () => undefined);
  } catch (error) {
    throw toRefusal(error, way);
  }
}

export function toAuthority(port: number | undefined): string {
  return port === undefined ? HTTP_AUTHORITY : toPortAuthority(port);
}

function openPool(way: Way): Dispatcher {
  return new Pool('http://machine', {
    connect: joinAnswerChunks((_options, callback) => {
      connectTo(way).then(
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

function toRefusal(error: unknown, { port, isOneOfMany = false }: Way): unknown {
  if (!(error instanceof RemoraError)) return error;
  switch (error.code) {
    case 'not_found': {
      if (isOneOfMany) return new ConnectionsReplaced('nothing listens there');
      const where = port === undefined ? 'port 8080, or a service with an http_port' : `port ${port}`;
      return new RemoraError('upstream_failed', `nothing listens in the machine where this leads: ${where}`);
    }
    case 'upstream_failed':
      // An error without the name of a service means that the channel is gone: nothing was sent, and the machine may be back.
      return error.details === undefined ? new ConnectionsReplaced(error.message) : error;
    default:
      return error;
  }
}
