// The target `lane:…` of a channel: a connection to the platform beside the channel, joined to one to the supervisor. Their bytes are passed
// on unread: what the platform may ask the supervisor for over the channel, it may ask for here.
import type { ServerHttp2Stream } from 'node:http2';
import type { Duplex } from 'node:stream';
import { LANE_AUTHORITY, type LaneOperation } from '../../contract/channel.ts';
import { joinConnections } from '../../http/join-connections.ts';
import type { ChannelTarget } from './channel-target.ts';

export interface LaneTargetOptions {
  /** Opens the lane. */
  readonly dial: (lane_id: string, signal: AbortSignal) => Promise<Duplex>;
  /** Connects to the supervisor, which it starts. */
  readonly connect: () => Promise<Duplex>;
  /** Counts a call until its disposal. */
  readonly begin: (operation: LaneOperation) => Disposable;
  /** Whether no other call has come just now. */
  readonly mayHurry: () => boolean;
}

const OK = 200;
const BAD_GATEWAY = 502;

export function createLaneTarget({ dial, connect, begin, mayHurry }: LaneTargetOptions): ChannelTarget {
  async function open(stream: ServerHttp2Stream, lane_id: string): Promise<void> {
    const gone = new AbortController();
    stream.once('close', () => gone.abort());
    const [lane, supervisor] = await Promise.allSettled([dial(lane_id, gone.signal), Promise.try(connect)]);
    const opened = [lane, supervisor].flatMap((end) => (end.status === 'fulfilled' ? [end.value] : []));
    const [one, other] = opened;
    if (one === undefined || other === undefined || stream.destroyed) {
      for (const end of opened) end.on('error', ignore).destroy();
      if (!stream.destroyed) stream.respond({ ':status': BAD_GATEWAY }, { endStream: true });
      return;
    }
    joinConnections(one, other, mayHurry);
    stream.once('close', () => {
      one.destroy();
      other.destroy();
    });
    one.once('close', () => stream.destroy());
    stream.respond({ ':status': OK });
    stream.resume();
  }

  return (authority, stream) => {
    const [, operation, lane_id] = LANE_AUTHORITY.exec(authority) ?? [];
    if (operation === undefined || lane_id === undefined) return false;
    const counted = begin(operation as LaneOperation);
    stream.once('close', () => counted[Symbol.dispose]());
    open(stream, lane_id).catch(() => stream.destroy());
    return true;
  };
}

/** A connection that breaks also closes, and the close is what is watched. */
function ignore(): void {}
