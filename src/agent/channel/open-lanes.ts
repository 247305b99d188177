// The lanes of this machine that are open. After a resume each is as dead as the channel over which it was asked for.
import type { Duplex } from 'node:stream';
import { cutSocket } from '../../http/cut-socket.ts';
import type { ServedChannel } from './serve-channel.ts';

export class OpenLanes {
  readonly #open = new Set<Duplex>();
  #cuts = 0;

  /** Follows a lane until it is closed. Rejects when the machine was resumed while it was dialled. */
  async add(dialled: Promise<Duplex>): Promise<Duplex> {
    const cuts = this.#cuts;
    const lane = await dialled;
    if (cuts !== this.#cuts) {
      lane.destroy();
      throw new Error('the machine was resumed');
    }
    this.#open.add(lane);
    lane.once('close', () => this.#open.delete(lane));
    return lane;
  }

  /** The channel and its lanes send and take nothing more when this returns. The result ends what they carry. */
  cutWith(channel: ServedChannel | undefined): () => void {
    this.#cuts += 1;
    const releases = [channel?.cut(), ...[...this.#open].map((lane) => cutSocket(lane))];
    return () => {
      for (const release of releases) release?.();
    };
  }
}
