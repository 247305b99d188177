// Leads a request to one of the machines of an app: chosen by what is in flight, started where all are busy, replayed where one asks for it.
import type { IncomingMessage } from 'node:http';
import { RemoraError } from '../../core/remora-error.ts';
import type { Exchange } from '../../http/exchange.ts';
import type { MachineRow } from '../machines/records/machine-row.ts';
import { type AppPlaces, type Place, type PlaceSeeker, portOf } from './app-places.ts';
import type { CallerReader } from './caller-facts.ts';
import { forward } from './forward.ts';
import { toGoneSignal } from './gone-signal.ts';
import type { AppTarget } from './host-names.ts';
import type { MachineCalls } from './machine-calls.ts';
import { ProxyHeaders } from './proxy-headers.ts';
import { answerMoved, answerWaiting } from './proxy-pages.ts';
import { withReplay } from './replay.ts';
import { withPatience } from './with-patience.ts';

export interface AppRouteDeps {
  readonly places: AppPlaces;
  readonly calls: MachineCalls;
  readonly callerReader: CallerReader;
  readonly findMachines: (app: string) => Promise<readonly MachineRow[]>;
  /** Where browsers reach the host of an app over TLS; undefined where nothing speaks it. */
  readonly toSecureOrigin: (app: string) => string | undefined;
}

export class AppRoute {
  readonly #deps: AppRouteDeps;

  constructor(deps: AppRouteDeps) {
    this.#deps = deps;
  }

  /** Throws what the caller is to read, before anything was answered. */
  async serve(exchange: Exchange, { app, machines }: AppTarget): Promise<void> {
    if (machines.length === 0) {
      throw new RemoraError('not_found', 'there is no such app, or none of its machines has an http_service');
    }
    const { request, response } = exchange;
    const secure = this.#toSecure(request, app, machines);
    if (secure !== undefined) return answerMoved(response, secure);
    const { places: all, findMachines } = this.#deps;
    const { refusals } = all;
    const seeker = { app, findMachines: () => findMachines(app), gone: toGoneSignal(response) };
    const taking = all.take(seeker, machines);
    const taken = await withPatience(request, taking);
    if (taken === 'impatient') {
      taking.then(({ counted }) => counted[Symbol.dispose]()).catch(() => undefined);
      return answerWaiting(response);
    }
    const places = [taken];
    try {
      const outcome = await this.#forward(exchange, seeker, places);
      const last = places.at(-1);
      if (outcome.status !== undefined && last !== undefined) refusals.onAnswer(last.machine.id);
    } catch (error) {
      const last = places.at(-1);
      if (isRefusal(error) && last !== undefined) refusals.onRefusal(last.machine.id);
      throw error;
    } finally {
      for (const { counted } of places) counted[Symbol.dispose]();
      all.release(app);
    }
  }

  /** Where a request that came without TLS is to go instead. */
  #toSecure(request: IncomingMessage, app: string, machines: readonly MachineRow[]): string | undefined {
    if (!machines.some(({ config }) => config.http_service?.force_https === true)) return undefined;
    const { toSecureOrigin, callerReader } = this.#deps;
    const origin = toSecureOrigin(app);
    if (origin === undefined || callerReader.read(request).protocol === 'https') return undefined;
    return `${origin}${request.url ?? '/'}`;
  }

  /** `places`: where the request is; the last one is the one that counts. */
  async #forward(exchange: Exchange, seeker: PlaceSeeker, places: Place[]) {
    const { calls, callerReader, places: all } = this.#deps;
    const { findMachines, gone } = seeker;
    const toWay = ({ machine, channel }: Place) => ({ channel, port: portOf(machine), isOneOfMany: true });
    const [first] = places;
    if (first === undefined) throw new Error('a request without a place');
    return await forward(exchange, toWay(first), {
      calls,
      headers: new ProxyHeaders(callerReader.read(exchange.request)),
      again: async () => {
        const refused = places.at(-1)?.machine.id ?? '';
        all.refusals.onRefusal(refused);
        const place = await all.take(seeker, await findMachines(), refused);
        places.push(place);
        return toWay(place);
      },
      around: (dispatcher) =>
        withReplay({
          first: dispatcher,
          from: places.at(-1)?.machine.id ?? '',
          find: async (instance) => {
            const machine = (await findMachines()).find(({ id }) => id === instance);
            if (machine === undefined) throw noInstance(instance);
            const place = await all.enter(machine, gone);
            places.push(place);
            return calls.dispatcher(toWay(place));
          },
        }),
    });
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof RemoraError && error.code === 'upstream_failed';
}

function noInstance(instance: string): RemoraError {
  return new RemoraError('upstream_refused', `a machine asks for a replay at ${instance}, which is none of this app`);
}
