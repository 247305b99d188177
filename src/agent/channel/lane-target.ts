// The target `lane:…` of a channel: a connection to the platform beside the channel, joined to one to the supervisor. Their bytes are passed
// on unread: what the platform may ask the supervisor for over the channel, it may ask for here.
import type { ServerHttp2Stream } from 'node:http2';
import type { Duplex } from 'node:stream';
import { LANE_AUTHORITY, type LaneOperation } from '../../contract/channel.ts';
import type { ChannelTarget } from './channel-target.ts';
import { openLane } from './open-lane.ts';

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

export function createLaneTarget({ dial, connect, begin, mayHurry }: LaneTargetOptions): ChannelTarget {
  async function open(stream: ServerHttp2Stream, lane_id: string): Promise<void> {
    const opened = await openLane(stream, { dial: (signal) => dial(lane_id, signal), connect, mayHurry });
    if (opened === undefined) return;
    const { lane, other } = opened;
    stream.once('close', () => {
      lane.destroy();
      other.destroy();
    });
    lane.once('close', () => stream.destroy());
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
