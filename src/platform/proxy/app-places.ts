// Finds a place at a machine of an app, for a request or a connection: at the one with the fewest, at one that is started, or after a wait.
import { RemoraError } from '../../core/remora-error.ts';
import type { MachineRow } from '../machines/records/machine-row.ts';
import { chooseMachine } from './choose-machine.ts';
import type { MachineReach } from './machine-reach.ts';
import type { MachineTraffic } from './machine-traffic.ts';
import type { MachineWays } from './machine-ways.ts';
import { PlaceQueue } from './place-queue.ts';
import { Refusals } from './refusals.ts';

export interface AppPlacesDeps {
  readonly ways: MachineWays;
  readonly traffic: MachineTraffic;
  readonly clock: { mono_ms(): number; wall_ms(): number };
}

/** A request at a machine, counted there until it is let go. */
export interface Place {
  readonly machine: MachineRow;
  readonly channel: MachineReach;
  readonly counted: Disposable;
}

/** What asks for a place. */
export interface PlaceSeeker {
  /** Those of one app wait for each other. */
  readonly app: string;
  /** Its machines now, with what they serve as their `http_service`. */
  readonly findMachines: () => Promise<readonly MachineRow[]>;
  /** Aborted when the caller is gone. */
  readonly gone: AbortSignal;
}

const DEFAULT_PORT = 8_080;
const RETRY_MS = 5_000;

export class AppPlaces {
  readonly #deps: AppPlacesDeps;
  readonly #queue = new PlaceQueue();
  readonly refusals: Refusals;

  constructor(deps: AppPlacesDeps) {
    this.#deps = deps;
    this.refusals = new Refusals(() => deps.clock.mono_ms());
  }

  /** Chooses again after each wait: much may have happened meanwhile. Throws `not_reachable`, and what a start throws. */
  async take(seeker: PlaceSeeker, machines: readonly MachineRow[], refused?: string): Promise<Place> {
    let known = machines;
    for (;;) {
      const choice = this.#choose(known, refused);
      switch (choice.type) {
        case 'use':
          if (choice.start !== undefined) this.#startBeside(choice.start);
          return await this.enter(choice.machine, seeker.gone);
        case 'start':
          return await this.enter(choice.machine, seeker.gone);
        case 'wait':
          await this.#queue.wait(seeker.app, seeker.gone);
          break;
        case 'none':
          throw new RemoraError('not_reachable', 'no machine of the app takes requests now', {
            retryAfter_ms: RETRY_MS,
          });
        default:
          choice satisfies never;
      }
      known = await seeker.findMachines();
    }
  }

  async enter(machine: MachineRow, gone: AbortSignal): Promise<Place> {
    const { ways, traffic } = this.#deps;
    ways.check(machine);
    const counted = traffic.begin(machine.id);
    try {
      const channel = ways.find(machine, portOf(machine)) ?? (await ways.wake(machine, portOf(machine), gone));
      return { machine, channel, counted };
    } catch (error) {
      counted[Symbol.dispose]();
      throw error;
    }
  }

  /** Call it when a place of the app was let go. */
  release(app: string): void {
    this.#queue.release(app);
  }

  /** The machine that has just refused gets the request again only where there is no other. */
  #choose(machines: readonly MachineRow[], refused: string | undefined) {
    const { ways, traffic, clock } = this.#deps;
    const candidates = machines.map((machine) => ({
      machine,
      isUp: ways.find(machine, portOf(machine)) !== undefined,
      isStarting: ways.isOpening(machine.id) || machine.state === 'starting',
      inFlight: traffic.inFlight(machine.id),
      isLeftOut: this.refusals.isLeftOut(machine.id),
    }));
    const others = candidates.filter(({ machine }) => machine.id !== refused);
    const choice = chooseMachine(others, clock.wall_ms());
    return choice.type === 'none' && others.length < candidates.length
      ? chooseMachine(candidates, clock.wall_ms())
      : choice;
  }

  #startBeside(machine: MachineRow): void {
    const { ways } = this.#deps;
    // Nobody waits for it: its failure is in the log.
    ways.wake(machine, portOf(machine), new AbortController().signal).catch(() => undefined);
  }
}

export function portOf({ config }: MachineRow): number {
  return config.http_service?.internal_port ?? DEFAULT_PORT;
}
