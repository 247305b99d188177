// The way to a machine: its channel at once where the machine runs, and else after it was started. All who wait for one machine share its
// start.
import { RemoraError } from '../../core/remora-error.ts';
import type { Changes } from '../changes.ts';
import type { Channels } from '../channels/channels.ts';
import type { MachineRow } from '../machines/records/machine-row.ts';
import { awaitListener } from './await-listener.ts';
import { toAuthority } from './machine-calls.ts';
import type { MachineReach } from './machine-reach.ts';
import type { OtherHosts } from './other-hosts.ts';

/** Makes sure that a machine runs. Throws what a start throws. */
export type EnsureRunning = (machine: MachineRow, signal: AbortSignal) => Promise<void>;

export interface MachineWaysDeps {
  readonly channels: Pick<Channels, 'find' | 'wait'>;
  readonly ensureRunning: EnsureRunning;
  readonly changes: Pick<Changes, 'subscribe'>;
  /** Machines of the driver `process` may be reached into, although they share kernel and files with the platform. */
  readonly trustMachines: boolean;
  /** The id of this platform process. */
  readonly host: string;
  /** Runs when a start failed: callers get no details of it. */
  readonly onFailure: (machine: MachineRow, error: unknown) => void;
  /** The way to machines of other platform processes; undefined where there is one process only. */
  readonly others: Pick<OtherHosts, 'holderOf' | 'reach'> | undefined;
  /** How long a request is held. */
  readonly held_ms?: number;
}

/** A machine on its way up, and a program in it at a port. */
interface Opening {
  readonly machine_id: string;
  readonly ready: Promise<MachineReach>;
}

export const HELD_MAX = 512;
export const HELD_MS = 30_000;
/** How long the agent of a machine that runs may take to connect: who waits for it is held as long. */
const CONNECT_MS = HELD_MS;
/** A machine that is run elsewhere is connected, or it is away. */
const AWAY_MS = 1_000;
const RETRY_MS = 5_000;

export class MachineWays {
  readonly #deps: MachineWaysDeps;
  /** The keys are machine and port. */
  readonly #openings = new Map<string, Opening>();
  readonly #starts = new Map<string, Promise<void>>();
  /** How many wait, by machine. */
  readonly #waiting = new Map<string, number>();
  /** Sprites whose machine has left the state `running`: what was kept of a machine may be a moment old. */
  readonly #asleep = new Set<string>();

  constructor(deps: MachineWaysDeps) {
    this.#deps = deps;
    deps.changes.subscribe('machine_ending', ({ sprite_id }) => this.#asleep.add(sprite_id));
    deps.changes.subscribe('machine_moved', ({ sprite_id, state }) => {
      if (state === 'running' || state === 'destroyed') this.#asleep.delete(sprite_id);
      else this.#asleep.add(sprite_id);
    });
  }

  /** Throws `not_isolated` for a machine that may not be reached into. */
  check({ config }: MachineRow): void {
    if (config.external === true || this.#deps.trustMachines) return;
    const message =
      `a machine of the driver ${config.driver ?? 'process'} shares kernel and files with the platform; ` +
      'start the platform with --trust-machines to reach into it all the same';
    throw new RemoraError('not_isolated', message);
  }

  /**
   * Undefined unless the machine runs and is connected here, or runs at another platform process, and is not on its way up. Ask after the
   * request was counted as traffic.
   */
  find(machine: MachineRow, port: number | undefined): MachineReach | undefined {
    const { id, sprite_id, state, config } = machine;
    if (this.#openings.size > 0 && this.#openings.has(toKey(id, port))) return undefined;
    const elsewhere = this.#findElsewhere(machine);
    // Should it sleep by now, its own process starts it.
    if (elsewhere !== undefined) return state === 'running' ? elsewhere : undefined;
    if (this.#asleep.has(sprite_id)) return undefined;
    return state === 'running' || config.external === true ? this.#deps.channels.find(id) : undefined;
  }

  /**
   * Reaches a machine of this platform process, for a request that another one has passed on: here or nowhere, so that it never goes on to a
   * third one or back. Throws `other_host`, and what `wake` throws.
   */
  async reachHere(machine: MachineRow, port: number | undefined, signal: AbortSignal): Promise<MachineReach> {
    if (machine.config.external === true) return await this.#wait(machine, AWAY_MS);
    if (machine.host !== this.#deps.host) throw new RemoraError('other_host', 'the machine is not at this process');
    return this.find(machine, port) ?? (await this.wake(machine, port, signal));
  }

  isOpening(machine_id: string): boolean {
    return this.#openings.values().some((opening) => opening.machine_id === machine_id);
  }

  /**
   * Resolves with the channel once the machine runs and a program listens at the port, or none does for a while; however many ask, it is
   * started once. Throws `not_reachable` when more wait than may, when it takes too long, and when the start fails, and the reason of `signal`.
   */
  async wake(machine: MachineRow, port: number | undefined, signal: AbortSignal): Promise<MachineReach> {
    const { id } = machine;
    const waiting = this.#waiting.get(id) ?? 0;
    if (waiting >= HELD_MAX) throw unavailable(`${HELD_MAX} requests wait for this machine already; try again`);
    this.#waiting.set(id, waiting + 1);
    const { ready } = this.#openings.get(toKey(id, port)) ?? this.#open(machine, port);
    const { promise: given, reject } = Promise.withResolvers<never>();
    const onAbort = () => reject(signal.reason);
    const late = setTimeout(
      () => reject(unavailable('the machine is still starting; try again')),
      this.#deps.held_ms ?? HELD_MS,
    );
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    try {
      return await Promise.race([ready, given]);
    } finally {
      const left = (this.#waiting.get(id) ?? 1) - 1;
      if (left > 0) this.#waiting.set(id, left);
      else this.#waiting.delete(id);
      clearTimeout(late);
      signal.removeEventListener('abort', onAbort);
    }
  }

  #open(machine: MachineRow, port: number | undefined): Opening {
    const key = toKey(machine.id, port);
    const ready = this.#bringUp(machine, port).finally(() => this.#openings.delete(key));
    // Nobody may wait any more when it fails.
    ready.catch(() => undefined);
    const opening = { machine_id: machine.id, ready };
    this.#openings.set(key, opening);
    return opening;
  }

  async #bringUp(machine: MachineRow, port: number | undefined): Promise<MachineReach> {
    if (machine.config.external === true) return await this.#findExternal(machine);
    const elsewhere = this.#findElsewhere(machine);
    if (elsewhere !== undefined) return await wakeElsewhere(elsewhere, port);
    try {
      await this.#start(machine);
    } catch (error) {
      throw this.#toRefusal(machine, error);
    }
    const channel = await this.#wait(machine, CONNECT_MS);
    await awaitListener(channel, port);
    return channel;
  }

  #findElsewhere(machine: MachineRow): MachineReach | undefined {
    const { others, host } = this.#deps;
    if (others === undefined || machine.host === null || machine.host === host) return undefined;
    return machine.config.external === true ? undefined : others.reach(machine.host, machine);
  }

  /** It is connected to one of the processes, or it is away. */
  async #findExternal(machine: MachineRow): Promise<MachineReach> {
    const { others, host } = this.#deps;
    const holder = await others?.holderOf(machine.id);
    if (others === undefined || holder === undefined || holder === host) return await this.#wait(machine, AWAY_MS);
    return others.reach(holder, machine);
  }

  async #wait(machine: MachineRow, limit_ms: number): Promise<MachineReach> {
    try {
      return await this.#deps.channels.wait(machine.id, limit_ms);
    } catch (error) {
      if (error instanceof RemoraError && error.code === 'not_reachable') throw error;
      throw this.#toRefusal(machine, error);
    }
  }

  /** One start for all ports. */
  #start(machine: MachineRow): Promise<void> {
    const start =
      this.#starts.get(machine.id) ??
      this.#deps.ensureRunning(machine, never).finally(() => this.#starts.delete(machine.id));
    this.#starts.set(machine.id, start);
    return start;
  }

  /** What made a start fail, or why nothing in a machine is reached, is for the owner of the machine, not for its visitors. */
  #toRefusal(machine: MachineRow, error: unknown): unknown {
    if (error instanceof RemoraError && error.code === 'other_host') {
      return unavailable('the machine has just been started at another platform process; try again');
    }
    if (error instanceof RemoraError && shown.has(error.code)) return error;
    this.#deps.onFailure(machine, error);
    return unavailable('the machine could not be started, or is not to be reached; its log and its events say why');
  }
}

const shown: ReadonlySet<string> = new Set(['concurrent_sprite_limit_exceeded', 'host_drained', 'shutting_down']);
const never = new AbortController().signal;

/** The process that has the machine starts it before it connects. Nothing else that a connection meets is looked at: the request meets it too. */
async function wakeElsewhere(reach: MachineReach, port: number | undefined): Promise<MachineReach> {
  try {
    (await reach.connect(toAuthority(port))).on('error', () => undefined).destroy();
  } catch (error) {
    if (!(error instanceof RemoraError) || !ofPort.has(error.code)) throw error;
  }
  return reach;
}

const ofPort: ReadonlySet<string> = new Set(['not_found', 'service_stopped', 'upstream_failed']);

function toKey(machine_id: string, port: number | undefined): string {
  return `${machine_id} ${port}`;
}

function unavailable(message: string): RemoraError {
  return new RemoraError('not_reachable', message, { retryAfter_ms: RETRY_MS });
}
