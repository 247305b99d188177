// From a request to one of the machines of an app: chosen by what is in flight, started where all are busy, replayed where one asks for it.
import { RemoraError } from '../../core/remora-error.ts';
import type { Exchange } from '../../http/exchange.ts';
import type { MachineRow } from '../machines/records/machine-row.ts';
import type { CallerReader } from './caller-facts.ts';
import { chooseMachine } from './choose-machine.ts';
import { forward } from './forward.ts';
import { toGoneSignal } from './gone-signal.ts';
import type { AppTarget } from './host-names.ts';
import type { MachineCalls } from './machine-calls.ts';
import type { MachineReach } from './machine-reach.ts';
import type { MachineTraffic } from './machine-traffic.ts';
import type { MachineWays } from './machine-ways.ts';
import { PlaceQueue } from './place-queue.ts';
import { ProxyHeaders } from './proxy-headers.ts';
import { answerWaiting } from './proxy-pages.ts';
import { Refusals } from './refusals.ts';
import { withReplay } from './replay.ts';
import { withPatience } from './with-patience.ts';

export interface AppRouteDeps {
  readonly ways: MachineWays;
  readonly calls: MachineCalls;
  readonly traffic: MachineTraffic;
  readonly callerReader: CallerReader;
  readonly findMachines: (app: string) => Promise<readonly MachineRow[]>;
  readonly clock: { mono_ms(): number; wall_ms(): number };
}

/** A request at a machine, counted there until it is let go. */
interface Place {
  readonly machine: MachineRow;
  readonly channel: MachineReach;
  readonly counted: Disposable;
}

const DEFAULT_PORT = 8_080;
const RETRY_MS = 5_000;

export class AppRoute {
  readonly #deps: AppRouteDeps;
  readonly #queue = new PlaceQueue();
  readonly #refusals: Refusals;

  constructor(deps: AppRouteDeps) {
    this.#deps = deps;
    this.#refusals = new Refusals(() => deps.clock.mono_ms());
  }

  /** Throws what the caller is to read, before anything was answered. */
  async serve(exchange: Exchange, { app, machines }: AppTarget): Promise<void> {
    if (machines.length === 0) {
      throw new RemoraError('not_found', 'there is no such app, or none of its machines has an http_service');
    }
    const { request, response } = exchange;
    const gone = toGoneSignal(response);
    const taking = this.#take(app, machines, gone);
    const taken = await withPatience(request, taking);
    if (taken === 'impatient') {
      taking.then(({ counted }) => counted[Symbol.dispose]()).catch(() => undefined);
      return answerWaiting(response);
    }
    const places = [taken];
    try {
      const outcome = await this.#forward(exchange, app, places, gone);
      const last = places.at(-1);
      if (outcome.status !== undefined && last !== undefined) this.#refusals.onAnswer(last.machine.id);
    } catch (error) {
      const last = places.at(-1);
      if (isRefusal(error) && last !== undefined) this.#refusals.onRefusal(last.machine.id);
      throw error;
    } finally {
      for (const { counted } of places) counted[Symbol.dispose]();
      this.#queue.release(app);
    }
  }

  /** `places`: where the request is; the last one is the one that counts. */
  async #forward(exchange: Exchange, app: string, places: Place[], gone: AbortSignal) {
    const { calls, callerReader, findMachines } = this.#deps;
    const toWay = ({ machine, channel }: Place) => ({ channel, port: portOf(machine), isOneOfMany: true });
    const [first] = places;
    if (first === undefined) throw new Error('a request without a place');
    return await forward(exchange, toWay(first), {
      calls,
      headers: new ProxyHeaders(callerReader.read(exchange.request)),
      again: async () => {
        const refused = places.at(-1)?.machine.id ?? '';
        this.#refusals.onRefusal(refused);
        const place = await this.#take(app, await findMachines(app), gone, refused);
        places.push(place);
        return toWay(place);
      },
      around: (dispatcher) =>
        withReplay({
          first: dispatcher,
          from: places.at(-1)?.machine.id ?? '',
          find: async (instance) => {
            const machine = (await findMachines(app)).find(({ id }) => id === instance);
            if (machine === undefined) throw noInstance(instance);
            const place = await this.#enter(machine, gone);
            places.push(place);
            return calls.dispatcher(toWay(place));
          },
        }),
    });
  }

  /** Chooses again after each wait: much may have happened meanwhile. */
  async #take(app: string, machines: readonly MachineRow[], gone: AbortSignal, refused?: string): Promise<Place> {
    let known = machines;
    for (;;) {
      const choice = this.#choose(known, refused);
      switch (choice.type) {
        case 'use':
          if (choice.start !== undefined) this.#startBeside(choice.start);
          return await this.#enter(choice.machine, gone);
        case 'start':
          return await this.#enter(choice.machine, gone);
        case 'wait':
          await this.#queue.wait(app, gone);
          break;
        case 'none':
          throw new RemoraError('not_reachable', 'no machine of the app takes requests now', {
            retryAfter_ms: RETRY_MS,
          });
        default:
          choice satisfies never;
      }
      known = await this.#deps.findMachines(app);
    }
  }

  /** The machine that has just refused gets the request again only where there is no other. */
  #choose(machines: readonly MachineRow[], refused: string | undefined) {
    const { ways, traffic, clock } = this.#deps;
    const candidates = machines.map((machine) => ({
      machine,
      isUp: ways.find(machine, portOf(machine)) !== undefined,
      isStarting: ways.isOpening(machine.id) || machine.state === 'starting',
      inFlight: traffic.inFlight(machine.id),
      isLeftOut: this.#refusals.isLeftOut(machine.id),
    }));
    const others = candidates.filter(({ machine }) => machine.id !== refused);
    const choice = chooseMachine(others, clock.wall_ms());
    return choice.type === 'none' && others.length < candidates.length
      ? chooseMachine(candidates, clock.wall_ms())
      : choice;
  }

  async #enter(machine: MachineRow, gone: AbortSignal): Promise<Place> {
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

  #startBeside(machine: MachineRow): void {
    const { ways } = this.#deps;
    // Nobody waits for it: its failure is in the log.
    ways.wake(machine, portOf(machine), new AbortController().signal).catch(() => undefined);
  }
}

function portOf({ config }: MachineRow): number {
  return config.http_service?.internal_port ?? DEFAULT_PORT;
}

function isRefusal(error: unknown): boolean {
  return error instanceof RemoraError && error.code === 'upstream_failed';
}

function noInstance(instance: string): RemoraError {
  return new RemoraError('upstream_refused', `a machine asks for a replay at ${instance}, which is none of this app`);
}
