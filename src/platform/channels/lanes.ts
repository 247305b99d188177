// The lanes of a channel: connections of their own that the agent opens when the platform asks for one, each for one call with a large file.
// They spare such a call the frames of the channel, and everything else on the channel that call.
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type LaneOperation, toLaneAuthority } from '../../contract/channel.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { randomHex } from '../../core/urandom.ts';

/** Each holds a little memory at both ends. */
const MAX_LANES = 8;
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
  /** Takes the place of a lane that was asked for; call the result with its connection. Undefined when this one is not waited for. */
  take(lane_id: string): ((socket: Socket) => void) | undefined;
}

export interface LanesOptions {
  /** Opens a stream of the channel; see `ChannelSession.connect`. */
  readonly connect: (authority: string, signal: AbortSignal) => Promise<Duplex>;
  /** Monotonic milliseconds. */
  readonly now_ms: () => number;
}

interface Expected {
  socket?: Socket;
}

export function createLanes({ connect, now_ms }: LanesOptions): Lanes {
  const expected = new Map<string, Expected>();
  let open = 0;
  let notBefore_ms = 0;

  /** The stream of the channel, once the agent has joined the lane to its supervisor, and the lane. */
  async function ask(operation: LaneOperation): Promise<{ readonly control: Duplex; readonly lane: Socket }> {
    const lane_id = randomHex(ID_BYTES);
    const own: Expected = {};
    expected.set(lane_id, own);
    try {
      const control = await connect(toLaneAuthority(operation, lane_id), AbortSignal.timeout(OPEN_MS));
      const lane = own.socket;
      if (lane !== undefined) return { control, lane };
      control.destroy();
      throw new RemoraError('upstream_failed', 'the agent has accepted a lane that it did not open');
    } catch (error) {
      own.socket?.destroy();
      throw error;
    } finally {
      expected.delete(lane_id);
    }
  }

  return {
    get isOpen() {
      return open < MAX_LANES && now_ms() >= notBefore_ms;
    },
    async open(operation) {
      open += 1;
      try {
        const { control, lane } = await ask(operation);
        // Either end of the channel ends its lanes with itself.
        control.on('error', ignore).once('close', () => lane.destroy());
        control.resume();
        lane.once('close', () => {
          open -= 1;
          control.destroy();
        });
        if (control.destroyed) lane.destroy();
        return lane;
      } catch (error) {
        open -= 1;
        notBefore_ms = now_ms() + AFTER_FAILURE_MS;
        throw error;
      }
    },
    take(lane_id) {
      const own = expected.get(lane_id);
      if (own === undefined || own.socket !== undefined) return undefined;
      return (socket) => {
        socket.on('error', ignore);
        if (own.socket === undefined && expected.has(lane_id)) own.socket = socket.setNoDelay(true);
        else socket.destroy();
      };
    },
  };
}

/** What breaks also closes, and the close is what is watched. */
function ignore(): void {}
