// New channels that nobody may use so far: the machine behind one has to enforce the policies of its sprite first. Where that fails, it is kept
// why, for those who ask for the machine.
import type { ErrorCode } from '../../contract/errors.ts';
import type { Log } from '../../core/log.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { ChannelSession } from './channel-session.ts';

/** Which policies may hold in a machine, as its agent says, whatever is stored of its sprite. */
export interface Restricted {
  readonly network: boolean;
  readonly programs: boolean;
}

/** Resolves when the machine may be reached over a new channel. One for which it rejects is closed. */
export type PrepareChannel = (channel: ChannelSession, restricted: Restricted) => Promise<void>;

export interface ChannelPreparationOptions {
  readonly prepare: PrepareChannel | undefined;
  readonly log: Pick<Log, 'warn'>;
  /** Runs when a machine is not reached. `isNews`: for a reason that is not the one before. */
  readonly onRefused: (machine_id: string, refusal: RemoraError, isNews: boolean) => void;
}

interface Refused {
  readonly sprite_id: string;
  readonly refusal: RemoraError;
}

/** Those of the machines that dialled last. */
const REFUSED_MAX = 4_096;
/** What the agent or the platform may say of a policy, and what every caller of a machine may be told. */
const said: readonly ErrorCode[] = ['not_supported', 'start_failed', 'upstream_timeout'];

export class ChannelPreparation {
  readonly #options: ChannelPreparationOptions;
  readonly #waiting = new Map<string, ChannelSession>();
  readonly #refused = new Map<string, Refused>();

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

  /** Call it when the machine of a sprite stands still: what it could not do, it may be able to do after its next boot. */
  forgive(sprite_id: string): void {
    for (const [machine_id, refused] of this.#refused) {
      if (refused.sprite_id === sprite_id) this.#refused.delete(machine_id);
    }
  }

  /** Why the last channel of the machine was closed; undefined when it was not, or nobody knows. */
  whyRefused(machine_id: string): RemoraError | undefined {
    return this.#refused.get(machine_id)?.refusal;
  }

  /** The same, where waiting for another channel is of no use. */
  whyHopeless(machine_id: string): RemoraError | undefined {
    const refusal = this.whyRefused(machine_id);
    return refusal?.code === 'not_supported' && !this.#waiting.has(machine_id) ? refusal : undefined;
  }

  /** Calls `begin` when the channel may be used, at once where nothing is prepared. Never throws. */
  async run(channel: ChannelSession, restricted: Restricted, begin: (channel: ChannelSession) => void): Promise<void> {
    const { prepare } = this.#options;
    const { machine_id } = channel;
    if (prepare === undefined) return begin(channel);
    this.#waiting.set(machine_id, channel);
    try {
      await prepare(channel, restricted);
      if (this.#waiting.get(machine_id) !== channel) return;
      this.#waiting.delete(machine_id);
      this.#refused.delete(machine_id);
      begin(channel);
    } catch (error) {
      this.#refuse(channel, error);
    }
  }

  #refuse(channel: ChannelSession, err: unknown): void {
    const { log, onRefused } = this.#options;
    const { machine_id, sprite_id } = channel;
    const isLast = this.#waiting.get(machine_id) === channel;
    if (isLast) this.#waiting.delete(machine_id);
    channel.close('the policies of its sprite do not hold in the machine');
    log.warn(
      { err, machine: machine_id, sprite: sprite_id },
      'a machine is not reached, because the policies of its sprite do not hold in it',
    );
    // One that was closed meanwhile says nothing of the machine.
    if (!isLast || !(err instanceof RemoraError)) return;
    const refusal = toRefusal(err);
    const before = this.whyRefused(machine_id);
    this.#refused.delete(machine_id);
    this.#refused.set(machine_id, { sprite_id, refusal });
    for (const oldest of this.#refused.keys()) {
      if (this.#refused.size <= REFUSED_MAX) break;
      this.#refused.delete(oldest);
    }
    onRefused(machine_id, refusal, before?.message !== refusal.message);
  }
}

function toRefusal(cause: RemoraError): RemoraError {
  const { message, details } = cause;
  const code = said.find((each) => each === cause.code) ?? 'upstream_failed';
  const why = `nothing in this machine is reached, because the policies of its sprite do not hold in it: ${message}`;
  return new RemoraError(code, why, { cause, ...(details === undefined ? {} : { details }) });
}
