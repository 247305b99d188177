// Leads a request that may come in to the machine of its sprite: at once where it runs, else after it was started.
import type { ServerResponse } from 'node:http';
import { RemoraError } from '../../core/remora-error.ts';
import type { Exchange } from '../../http/exchange.ts';
import type { MachineRow } from '../machines/records/machine-row.ts';
import type { MachineStore } from '../machines/records/machine-store.ts';
import type { CallerReader } from './caller-facts.ts';
import { forward } from './forward.ts';
import { toGoneSignal } from './gone-signal.ts';
import type { SpriteTarget } from './host-names.ts';
import type { MachineCalls, Way } from './machine-calls.ts';
import type { MachineTraffic } from './machine-traffic.ts';
import type { MachineWays } from './machine-ways.ts';
import type { Passage } from './passage.ts';
import { ProxyHeaders } from './proxy-headers.ts';
import { answerWaiting } from './proxy-pages.ts';
import { withPatience } from './with-patience.ts';

export interface SpriteRouteDeps {
  readonly ways: MachineWays;
  readonly calls: MachineCalls;
  readonly traffic: MachineTraffic;
  readonly machines: Pick<MachineStore, 'find'>;
  readonly callerReader: CallerReader;
}

export class SpriteRoute {
  readonly #deps: SpriteRouteDeps;

  constructor(deps: SpriteRouteDeps) {
    this.#deps = deps;
  }

  /** Throws, or rejects with, what the caller is to read, before anything was answered. */
  serve(exchange: Exchange, { found, port }: SpriteTarget, passage: Passage): Promise<unknown> {
    const machine = found?.machine;
    if (machine === undefined) throw new RemoraError('not_reachable', 'the sprite has no machine');
    const { ways, traffic } = this.#deps;
    ways.check(machine);
    passage.counted = traffic.begin(machine.id);
    const channel = ways.find(machine, port);
    if (channel === undefined) return this.#serveStarted(exchange, machine, port);
    return this.#forward(exchange, machine.id, { channel, port });
  }

  async #serveStarted(exchange: Exchange, machine: MachineRow, port: number | undefined): Promise<unknown> {
    const { request, response } = exchange;
    const waking = this.#deps.ways.wake(machine, port, toGoneSignal(response));
    const channel = await withPatience(request, waking);
    if (channel === 'impatient') return answerWaiting(response);
    return await this.#forward(exchange, machine.id, { channel, port });
  }

  #forward(exchange: Exchange, machine_id: string, way: Way): Promise<unknown> {
    const { calls, callerReader } = this.#deps;
    return forward(exchange, way, {
      calls,
      headers: new ProxyHeaders(callerReader.read(exchange.request)),
      again: () => this.#again(machine_id, way.port, exchange.response),
    });
  }

  /** The machine as it is now: what was kept of it may be from before its suspend. */
  async #again(machine_id: string, port: number | undefined, response: ServerResponse): Promise<Way> {
    const machine = await this.#deps.machines.find(machine_id);
    if (machine === undefined) throw new RemoraError('not_found', 'there is no such sprite');
    const { ways } = this.#deps;
    return { channel: ways.find(machine, port) ?? (await ways.wake(machine, port, toGoneSignal(response))), port };
  }
}
