// Opens a lane and what it leads to, and joins them.
import type { ServerHttp2Stream } from 'node:http2';
import type { Duplex } from 'node:stream';
import { joinConnections } from '../../http/join-connections.ts';

export interface LaneEnds {
  /** Opens the lane. */
  readonly dial: (signal: AbortSignal) => Promise<Duplex>;
  /** Connects to what the lane leads to. */
  readonly connect: (signal: AbortSignal) => Promise<Duplex>;
  /** Whether nobody else waits for the agent now. */
  readonly mayHurry: () => boolean;
}

export interface OpenLane {
  readonly lane: Duplex;
  readonly other: Duplex;
}

const BAD_GATEWAY = 502;

/** `stream` is what asked for it: the caller accepts it. Undefined when one of the ends does not open, and then the stream is refused. */
export async function openLane(
  stream: ServerHttp2Stream,
  { dial, connect, mayHurry }: LaneEnds,
): Promise<OpenLane | undefined> {
  const gone = new AbortController();
  const onClose = () => gone.abort();
  stream.once('close', onClose);
  const ends = await Promise.allSettled([dial(gone.signal), Promise.try(connect, gone.signal)]);
  stream.off('close', onClose);
  const opened = ends.flatMap((end) => (end.status === 'fulfilled' ? [end.value] : []));
  const [lane, other] = opened;
  if (lane === undefined || other === undefined || stream.destroyed || lane.destroyed || other.destroyed) {
    for (const end of opened) end.on('error', ignore).destroy();
    if (!stream.destroyed) stream.respond({ ':status': BAD_GATEWAY }, { endStream: true });
    return undefined;
  }
  joinConnections(lane, other, mayHurry);
  return { lane, other };
}

/** A connection that breaks also closes, and the close is what is watched. */
function ignore(): void {}
