// Private addresses of extensions (Extensions API, What the service does, rule 3): in the network of each machine that has one of its own, the
// addresses of the extensions of its organization are listened at, for the TCP services of the apps that they lead to. No other machine
// has a way to these listeners.
import type { Server, Socket } from 'node:net';
import { toErrorMessage } from '../../core/error-message.ts';
import type { Log } from '../../core/log.ts';
import type { MachineRow } from '../machines/records/machine-row.ts';
import { BoundedLines } from './bounded-lines.ts';
import type { TcpCalls } from './tcp-calls.ts';
import { listTcpPorts } from './tcp-port.ts';

/** The network of a machine that runs, in which nobody is but the machine and this platform. */
export interface PrivateNetwork {
  readonly machine_id: string;
  /** Another one after each start and resume. */
  readonly id: string;
  /** Puts the address there, and listens at each of the ports, of which there may be none. Throws `internal`, and nothing is listened at then. */
  listen(address: string, ports: readonly number[]): Promise<readonly Server[]>;
}

/** Where the address of an extension leads. */
export interface PrivateTarget {
  readonly organization_id: string;
  readonly address: string;
  readonly app: string;
}

export interface PrivateServicesDeps {
  readonly networks: () => readonly PrivateNetwork[];
  readonly listTargets: () => Promise<readonly PrivateTarget[]>;
  /** The organization of a machine; undefined for one that is gone. */
  readonly organizationOf: (machine_id: string) => Promise<string | undefined>;
  readonly findMachines: (app: string) => Promise<readonly MachineRow[]>;
  readonly calls: Pick<TcpCalls, 'serve'>;
  readonly log: Pick<Log, 'warn'>;
}

interface Listener {
  readonly app: string;
  readonly server: Server;
  readonly callers: Set<Socket>;
}

/** What changes is seen after so long. */
const LOOK_MS = 2_000;
/** Bounds the connections to one machine at one address and port. */
const CONNECTIONS = 1_024;

export class PrivateServices {
  readonly #deps: PrivateServicesDeps;
  /** The keys are network, address and port. */
  readonly #listeners = new Map<string, Listener>();
  /** The keys are network and address: those that were put there, also without a port, so that a connection is refused and not lost. */
  readonly #addresses = new Set<string>();
  /** The organization of each machine, which never changes. */
  readonly #organizations = new Map<string, string>();
  /** The machines of each app at the last look. */
  #machines = new Map<string, readonly MachineRow[]>();
  readonly #refusals: BoundedLines;
  readonly #failures: BoundedLines;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;

  constructor(deps: PrivateServicesDeps) {
    this.#deps = deps;
    this.#refusals = new BoundedLines({
      log: deps.log,
      first: 'a connection to a private address was refused',
      all: 'connections to private addresses were refused',
    });
    this.#failures = new BoundedLines({
      log: deps.log,
      first: 'private addresses could not be listened at',
      all: 'private addresses could not be listened at, again and again',
    });
  }

  start(): void {
    const look = () => {
      this.#looking ??= this.#look()
        // The next look tries again.
        .catch((error: unknown) => this.#failures.note({ why: toErrorMessage(error) }))
        .finally(() => {
          this.#looking = undefined;
        });
    };
    look();
    this.#timer = setInterval(look, LOOK_MS);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
    for (const key of this.#listeners.keys()) this.#close(key);
  }

  async #look(): Promise<void> {
    const networks = this.#deps.networks();
    const targets = networks.length === 0 ? [] : await this.#deps.listTargets();
    this.#machines = await this.#readApps(targets);
    const wanted = new Map<string, PrivateTarget>();
    const missing: { network: PrivateNetwork; target: PrivateTarget; ports: number[] }[] = [];
    for (const network of networks) {
      const organization_id = await this.#organizationOf(network.machine_id);
      for (const target of targets) {
        if (target.organization_id !== organization_id) continue;
        const ports = listTcpPorts(this.#machines.get(target.app) ?? []);
        for (const port of ports) wanted.set(toKey(network, target.address, port), target);
        const closed = ports.filter((port) => !this.#listeners.has(toKey(network, target.address, port)));
        if (closed.length > 0 || !this.#addresses.has(`${network.id} ${target.address}`))
          missing.push({ network, target, ports: closed });
      }
    }
    for (const [key, { app }] of this.#listeners) if (wanted.get(key)?.app !== app) this.#close(key);
    const known = new Set(networks.map(({ id }) => id));
    for (const key of this.#addresses) if (!known.has(key.slice(0, key.lastIndexOf(' ')))) this.#addresses.delete(key);
    for (const each of missing) await this.#listen(each.network, each.target, each.ports);
  }

  async #readApps(targets: readonly PrivateTarget[]): Promise<Map<string, readonly MachineRow[]>> {
    const found = new Map<string, readonly MachineRow[]>();
    for (const app of new Set(targets.map((target) => target.app))) {
      found.set(app, await this.#deps.findMachines(app));
    }
    return found;
  }

  async #organizationOf(machine_id: string): Promise<string | undefined> {
    const known = this.#organizations.get(machine_id) ?? (await this.#deps.organizationOf(machine_id));
    if (known !== undefined) this.#organizations.set(machine_id, known);
    return known;
  }

  async #listen(network: PrivateNetwork, { address, app }: PrivateTarget, ports: readonly number[]): Promise<void> {
    try {
      const servers = await network.listen(address, ports);
      this.#addresses.add(`${network.id} ${address}`);
      for (const [index, server] of servers.entries()) {
        const port = ports[index];
        if (port !== undefined) this.#serve(toKey(network, address, port), server, app, port);
      }
    } catch (error) {
      this.#failures.note({ machine: network.machine_id, address, app, why: toErrorMessage(error) });
    }
  }

  #serve(key: string, server: Server, app: string, port: number): void {
    const callers = new Set<Socket>();
    this.#listeners.set(key, { app, server, callers });
    server.maxConnections = CONNECTIONS;
    server.on('error', (error) => this.#refusals.note({ app, port, why: toErrorMessage(error) }));
    server.on('connection', (socket: Socket) => {
      callers.add(socket);
      socket.allowHalfOpen = true;
      socket.on('error', ignore).once('close', () => callers.delete(socket));
      this.#deps.calls.serve(socket, { app, port, machines: this.#machines.get(app) ?? [] }).catch((error: unknown) => {
        socket.resetAndDestroy();
        this.#refusals.note({ app, port, why: toErrorMessage(error) });
      });
    });
  }

  #close(key: string): void {
    const listener = this.#listeners.get(key);
    this.#listeners.delete(key);
    listener?.server.close();
    for (const socket of listener?.callers ?? []) socket.resetAndDestroy();
  }
}

function toKey({ id }: PrivateNetwork, address: string, port: number): string {
  return `${id} ${address} ${port}`;
}

/** A connection that breaks also closes, and the close is what is watched. */
function ignore(): void {}
