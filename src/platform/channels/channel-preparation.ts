// New channels that nobody may use so far: the machine behind one has to enforce the policies of its sprite first.
import type { Log } from '../../core/log.ts';
import type { ChannelSession } from './channel-session.ts';

/**
 * Resolves when the machine may be reached over a new channel. One for which it rejects is closed. `isRestricted`: what its agent says of the
 * network policy.
 */
export type PrepareChannel = (channel: ChannelSession, isRestricted: boolean) => Promise<void>;

export interface ChannelPreparationOptions {
  readonly prepare: PrepareChannel | undefined;
  readonly log: Pick<Log, 'warn'>;
}

export class ChannelPreparation {
  readonly #options: ChannelPreparationOptions;
  readonly #waiting = new Map<string, ChannelSession>();

  constructor(options: ChannelPreparationOptions) {
    this.#options = options;
  }

  list(): Iterable<ChannelSession> {
    return this.#waiting.values();
  }

  /** Call it when a channel is closed. */
  forget(channel: ChannelSession): void {
    if (this.#waiting.get(channel.machine_id) === channel) this.#waiting.delete(channel.machine_id);
  }

  /** Calls `begin` when the channel may be used, at once where nothing is prepared. Never throws. */
  async run(channel: ChannelSession, isRestricted: boolean, begin: (channel: ChannelSession) => void): Promise<void> {
    const { prepare, log } = this.#options;
    const { machine_id } = channel;
    if (prepare === undefined) return begin(channel);
    this.#waiting.set(machine_id, channel);
    try {
      await prepare(channel, isRestricted);
      if (this.#waiting.get(machine_id) !== channel) return;
      this.#waiting.delete(machine_id);
      begin(channel);
    } catch (err) {
      log.warn(
        { err, machine: machine_id },
        'a machine is not reached, because the policies of its sprite do not hold in it',
      );
      channel.close('the policies of its sprite do not hold in the machine');
    }
  }
}
