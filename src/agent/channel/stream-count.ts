// How many streams of the channel are open.
import type { ChannelTarget } from './channel-target.ts';

export class StreamCount {
  #open = 0;

  get open(): number {
    return this.#open;
  }

  /** The same target, whose streams are counted. */
  counting(target: ChannelTarget): ChannelTarget {
    return (authority, stream) => {
      if (!target(authority, stream)) return false;
      this.#open += 1;
      stream.once('close', () => {
        this.#open -= 1;
      });
      return true;
    };
  }
}
