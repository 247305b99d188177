// From a request that may come in to the machine of its sprite: at once where it runs, else after it was started.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { RemoraError } from '../../core/remora-error.ts';
import type { Exchange } from '../../http/exchange.ts';
import type { ChannelSession } from '../channels/channel-session.ts';
import type { MachineRow } from '../machines/records/machine-row.ts';
import type { MachineStore } from '../machines/records/machine-store.ts';
import { toCallerFacts } from './caller-facts.ts';
import { forward, type Way } from './forward.ts';
import type { SpriteTarget } from './host-names.ts';
import type { MachineCalls } from './machine-calls.ts';
import type { MachineTraffic } from './machine-traffic.ts';
import type { MachineWays } from './machine-ways.ts';
import type { ProxyAddresses } from './proxy-addresses.ts';
import { ProxyHeaders } from './proxy-headers.ts';
import { answerWaiting } from './proxy-pages.ts';
import { isNavigation } from './wants-page.ts';

export interface SpriteRouteDeps {
  readonly ways: MachineWays;
  readonly calls: MachineCalls;
  readonly traffic: MachineTraffic;
  readonly machines: Pick<MachineStore, 'find'>;
  readonly addresses: Pick<ProxyAddresses, 'front'>;
}

/** How long a browser waits for a machine that starts, before it gets a page. */
const PATIENCE_MS = 2_000;

export class SpriteRoute {
  readonly #deps: SpriteRouteDeps;

  constructor(deps: SpriteRouteDeps) {
    this.#deps = deps;
  }

  /** Throws what the caller is to read, before anything was answered. */
  async serve(exchange: Exchange, { found, port }: SpriteTarget): Promise<void> {
    const machine = found?.machine;
    if (machine === undefined) throw new RemoraError('not_reachable', 'the sprite has no machine');
    const { ways, calls, traffic, addresses } = this.#deps;
    ways.check(machine);
    const { request, response } = exchange;
    using _counted = traffic.begin(machine.id);
    const channel = ways.find(machine) ?? (await this.#wake(machine, request, response));
    // The browser has a page, or nobody waits.
    if (channel === undefined) return;
    await forward(
      exchange,
      { channel, port },
      {
        calls,
        headers: new ProxyHeaders(toCallerFacts(request, addresses.front)),
        again: () => this.#again(machine.id, port, response),
      },
    );
  }

  /** Undefined when the page that waits was sent. */
  async #wake(
    machine: MachineRow,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<ChannelSession | undefined> {
    const waking = this.#deps.ways.wake(machine, toSignal(response));
    if (!isNavigation(request) || request.method !== 'GET') return await waking;
    const { promise: impatient, resolve } = Promise.withResolvers<undefined>();
    const patience = setTimeout(() => resolve(undefined), PATIENCE_MS);
    waking.catch(() => undefined);
    try {
      const channel = await Promise.race([waking, impatient]);
      if (channel === undefined) answerWaiting(response);
      return channel;
    } finally {
      clearTimeout(patience);
    }
  }

  /** The machine as it is now: what was kept of it may be from before its suspend. */
  async #again(machine_id: string, port: number | undefined, response: ServerResponse): Promise<Way> {
    const machine = await this.#deps.machines.find(machine_id);
    if (machine === undefined) throw new RemoraError('not_found', 'there is no such sprite');
    const { ways } = this.#deps;
    return { channel: ways.find(machine) ?? (await ways.wake(machine, toSignal(response))), port };
  }
}

/** Aborts when the caller is gone. */
function toSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  const end = () => gone.abort(new RemoraError('upstream_failed', 'the caller went away'));
  if (response.destroyed) end();
  else response.once('close', end);
  return gone.signal;
}
