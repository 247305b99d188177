// The service that should listen at a port, for a connection that finds nobody there: one that is about to listen is waited for, one that
// has crashed is started.
import { setTimeout as sleep } from 'node:timers/promises';
import { readText } from '../../client/read-answer.ts';
import { DEFAULT_HTTP_PORT } from '../../contract/channel.ts';
import { type ServiceResponse, type ServiceStatus, serviceListResponse } from '../../contract/services.ts';
import { SERVICE_WAIT_MS } from '../../core/channel-limits.ts';
import type { ProcessLink } from '../process-link.ts';

/** Why a connection is refused: the service of the port, in a state in which it does not listen. */
export interface ServiceRefusal {
  readonly service: string;
  readonly status: ServiceStatus;
}

/** What is seen of the ports of this machine. */
export interface PortSight {
  /** Resolves when `isOpen` answers for the ports that are open at this moment. */
  freshen(): Promise<void>;
  /** Looks more often until disposed. */
  attend(): Disposable;
  /** Whether a process listens there. */
  isOpen(port: number): boolean;
}

export interface ServiceOfPortOptions {
  /** Undefined where no service is defined. Throws where none can be run. */
  readonly link: () => Promise<ProcessLink | undefined>;
  readonly limit_ms?: number;
}

const POLL_MS = 100;
/** A service that crashes is started by a connection once in this time: otherwise callers would undo the pauses between its starts. */
const START_AGAIN_MS = 10_000;

export class ServiceOfPort {
  readonly #options: ServiceOfPortOptions;
  readonly #waits = new Map<number, Promise<ServiceRefusal | undefined>>();
  readonly #started_ms = new Map<string, number>();

  constructor(options: ServiceOfPortOptions) {
    this.#options = options;
  }

  /** Resolves when a process listens there, when no service has this port, or with the reason to refuse. One wait for all who ask. */
  wait(port: number, ports: PortSight): Promise<ServiceRefusal | undefined> {
    const wait = this.#waits.get(port) ?? this.#wait(port, ports).finally(() => this.#waits.delete(port));
    this.#waits.set(port, wait);
    return wait;
  }

  /** Where the sprite serves HTTP: the port of the first service that has one. */
  async findHttpPort(): Promise<number> {
    const link = await this.#options.link();
    const services = link === undefined ? [] : await listServices(link);
    return services.find(({ http_port }) => http_port != null)?.http_port ?? DEFAULT_HTTP_PORT;
  }

  async #wait(port: number, ports: PortSight): Promise<ServiceRefusal | undefined> {
    const { link: open, limit_ms = SERVICE_WAIT_MS } = this.#options;
    const link = await open();
    if (link === undefined) return undefined;
    using _attention = ports.attend();
    await ports.freshen();
    const end_ms = performance.now() + limit_ms;
    for (;;) {
      const found = await findService(link, port);
      if (found === undefined || ports.isOpen(port)) return undefined;
      const refusal = { service: found.name, status: found.state?.status ?? 'stopped' };
      if (refusal.status === 'stopped' || performance.now() >= end_ms) return refusal;
      if (refusal.status === 'failed') {
        if (!this.#mayStart(found.name)) return refusal;
        await startService(link, found.name);
      }
      await sleep(POLL_MS, undefined, { ref: false });
    }
  }

  #mayStart(name: string): boolean {
    const now_ms = performance.now();
    if (now_ms - (this.#started_ms.get(name) ?? Number.NEGATIVE_INFINITY) < START_AGAIN_MS) return false;
    this.#started_ms.set(name, now_ms);
    return true;
  }
}

async function findService(link: ProcessLink, port: number): Promise<ServiceResponse | undefined> {
  return (await listServices(link)).find(({ http_port }) => http_port === port);
}

async function listServices(link: ProcessLink): Promise<readonly ServiceResponse[]> {
  const { statusCode, body } = await link.ask('GET', '/v1/services');
  const text = await readText(body);
  if (statusCode !== 200) throw new Error(`the supervisor answers ${statusCode}`);
  return serviceListResponse.parse(JSON.parse(text));
}

async function startService(link: ProcessLink, name: string): Promise<void> {
  const { body } = await link.ask('POST', `/v1/services/${name}/start?duration=0`);
  // A service that was deleted meanwhile is not found by the next look either.
  await body.dump();
}
