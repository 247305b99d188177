// The lanes of a channel: connections of their own that the agent opens when the platform asks for one, each for one call with a large file, or
// for requests to a port, one after the other. They spare these the frames of the channel, and everything else on the channel these calls.
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type LaneOperation, toLaneAuthority, toPortLaneAuthority } from '../../contract/channel.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { randomHex } from '../../core/urandom.ts';
import { boundPieces } from './bound-pieces.ts';
import type { LaneCount, LaneCounts } from './lane-counts.ts';

/** Each holds a little memory at both ends. */
const MAX_LANES = 8;
/** Bounds the lanes of all ports of the machine together. */
export const MAX_PORT_LANES = 32;
/** How long an agent may take to open one: the call waits meanwhile. */
const OPEN_MS = 2_000;
/** How long none is asked for after one was not opened: an older agent knows none, and its way to the platform may lead to another process. */
const AFTER_FAILURE_MS = 60_000;
const ID_BYTES = 16;

export interface Lanes {
  /** Whether it is worth asking for one now. */
  readonly isOpen: boolean;
  /** Opens one. Rejects where the agent opens none; the call can go over the channel then. */
  open(operation: LaneOperation): Promise<Duplex>;
  readonly ports: PortLanes;
  /** Ends those to ports: the channel is over, and opens none any more. The stream of each other one ends it. */
  end(): void;
  /** Takes the place of a lane that was asked for; call the result with its connection. Undefined when this one is not waited for. */
  take(lane_id: string): ((socket: Socket) => void) | undefined;
}

/** Lanes to ports. */
export interface PortLanes {
  /** Whether it is worth asking for one now. */
  readonly isOpen: boolean;
  /** `authority`: that of a CONNECT to the port. Rejects where the agent opens none; the request can go over the channel then. */
  open(authority: string): Promise<Socket>;
}

export interface LanesOptions {
  /** Opens a stream of the channel; see `ChannelSession.connect`. */
  readonly connect: (authority: string, signal: AbortSignal) => Promise<Duplex>;
  /** The counts of all channels, for the metrics. */
  readonly counts: LaneCounts;
  /** Monotonic milliseconds. */
  readonly now_ms: () => number;
}

interface Expected {
  socket?: Socket;
}

export function createLanes({ connect, counts, now_ms }: LanesOptions): Lanes {
  const expected = new Map<string, Expected>();
  const toPorts = new Set<Socket>();
  let isOver = false;

  /** The stream of the channel, once the agent has joined the lane to what it leads to, and the lane. */
  async function ask(
    toAuthority: (lane_id: string) => string,
  ): Promise<{ readonly control: Duplex; readonly lane: Socket }> {
    const lane_id = randomHex(ID_BYTES);
    const own: Expected = {};
    expected.set(lane_id, own);
    try {
      const control = await connect(toAuthority(lane_id), AbortSignal.timeout(OPEN_MS));
      const lane = own.socket;
      if (lane?.destroyed === false) return { control, lane };
      control.destroy();
      throw new RemoraError('upstream_failed', 'the agent has accepted a lane that is not open');
    } catch (error) {
      own.socket?.destroy();
      throw error;
    } finally {
      expected.delete(lane_id);
    }
  }

  /** Lanes of one kind, which do not take the room of the other kind. `bind` gets each that is open. */
  function createKind(max: number, count: LaneCount, bind: (lane: Socket, control: Duplex) => void) {
    let open = 0;
    let notBefore_ms = 0;
    return {
      get isOpen() {
        return open < max && now_ms() >= notBefore_ms;
      },
      async open(toAuthority: (lane_id: string) => string): Promise<Socket> {
        open += 1;
        try {
          const { control, lane } = await ask(toAuthority);
          count.open += 1;
          count.opened += 1;
          lane.once('close', () => {
            open -= 1;
            count.open -= 1;
            control.destroy();
          });
          bind(lane, control.on('error', ignore).resume());
          return lane;
        } catch (error) {
          open -= 1;
          count.failed += 1;
          notBefore_ms = now_ms() + AFTER_FAILURE_MS;
          throw error;
        }
      },
    };
  }

  const files = createKind(MAX_LANES, counts.files, (lane, control) => {
    // Either end of the channel ends its lanes with itself.
    control.once('close', () => lane.destroy());
    if (control.destroyed) lane.destroy();
  });
  const ports = createKind(MAX_PORT_LANES, counts.ports, (lane, control) => {
    // They may be many, and the streams of the channel are for calls.
    control.end();
    toPorts.add(lane);
    lane.once('close', () => toPorts.delete(lane));
    if (isOver) lane.destroy(new ChannelOver());
  });
  return {
    get isOpen() {
      return files.isOpen;
    },
    open: (operation) => files.open((lane_id) => toLaneAuthority(operation, lane_id)),
    ports: {
      get isOpen() {
        return ports.isOpen;
      },
      open: (authority) => ports.open((lane_id) => toPortLaneAuthority(authority, lane_id)),
    },
    end() {
      isOver = true;
      for (const lane of toPorts) lane.destroy(new ChannelOver());
    },
    take(lane_id) {
      const own = expected.get(lane_id);
      if (own === undefined || own.socket !== undefined) return undefined;
      return (socket) => {
        socket.on('error', ignore);
        if (own.socket !== undefined || !expected.has(lane_id)) {
          socket.destroy();
          return;
        }
        boundPieces(socket);
        own.socket = socket.setNoDelay(true);
      };
    },
  };
}

/** An answer that a lane carried is not whole then. */
class ChannelOver extends Error {
  readonly code = 'ECONNRESET';

  constructor() {
    super('the channel is over');
  }
}

/** What breaks also closes, and the close is what is watched. */
function ignore(): void {}
