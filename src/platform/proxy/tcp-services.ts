// The TCP services of apps: listens at the address of each app for the ports that its machines serve, and connects callers to them.
import { createServer, type Server, type Socket } from 'node:net';
import { toErrorMessage } from '../../core/error-message.ts';
import type { Log } from '../../core/log.ts';
import { BACKLOG } from '../../http/start-listening.ts';
import type { MachineRow } from '../machines/records/machine-row.ts';
import { BoundedLines } from './bounded-lines.ts';
import type { TcpCalls } from './tcp-calls.ts';
import { listTcpPorts } from './tcp-port.ts';

/** An app, and the address of this computer at which its services are reached. */
export interface TcpAddress {
  readonly app: string;
  readonly host: string;
}

export interface TcpServicesDeps {
  readonly addresses: readonly TcpAddress[];
  /** All machines of an app. */
  readonly findMachines: (app: string) => Promise<readonly MachineRow[]>;
  readonly calls: Pick<TcpCalls, 'serve'>;
  readonly log: Pick<Log, 'info' | 'warn'>;
}

interface Listener {
  readonly server: Server;
  readonly callers: Set<Socket>;
}

/** What changes in the services of an app is seen after so long. */
const LOOK_MS = 2_000;

export class TcpServices {
  readonly #deps: TcpServicesDeps;
  /** The keys are app and port. */
  readonly #listeners = new Map<string, Listener>();
  /** Ports that are taken, or may not be listened at: each is tried again, and logged once. */
  readonly #refused = new Set<string>();
  /** The machines of each app at the last look. */
  readonly #machines = new Map<string, readonly MachineRow[]>();
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;

  constructor(deps: TcpServicesDeps) {
    this.#deps = deps;
  }

  /** Begins to listen for what there is, and goes on looking. */
  start(): void {
    if (this.#deps.addresses.length === 0) return;
    const look = () => {
      this.#looking ??= this.#look().finally(() => {
        this.#looking = undefined;
      });
    };
    look();
    this.#timer = setInterval(look, LOOK_MS);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
    await Promise.all([...this.#listeners.keys()].map((key) => this.#close(key)));
  }

  async #look(): Promise<void> {
    for (const address of this.#deps.addresses) {
      try {
        await this.#follow(address);
      } catch (error) {
        // The next look may find out.
        this.#deps.log.warn(
          { app: address.app, why: toErrorMessage(error) },
          'the services of an app could not be read',
        );
      }
    }
  }

  async #follow({ app, host }: TcpAddress): Promise<void> {
    const machines = await this.#deps.findMachines(app);
    this.#machines.set(app, machines);
    const ports = listTcpPorts(machines);
    const wanted = new Set(ports.map((port) => toKey(app, port)));
    const gone = [...this.#listeners.keys()].filter((key) => key.startsWith(`${app} `) && !wanted.has(key));
    await Promise.all(gone.map((key) => this.#close(key)));
    for (const port of ports) if (!this.#listeners.has(toKey(app, port))) this.#listen(app, host, port);
  }

  #listen(app: string, host: string, port: number): void {
    const { calls, log } = this.#deps;
    const key = toKey(app, port);
    const callers = new Set<Socket>();
    const refusals = new BoundedLines({
      log,
      first: 'a connection to a service of an app was refused',
      all: `connections to ${app} at port ${port} were refused`,
    });
    const server = createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true }, (socket) => {
      callers.add(socket);
      socket.on('error', ignore).once('close', () => callers.delete(socket));
      calls.serve(socket, { app, port, machines: this.#machines.get(app) ?? [] }).catch((error: unknown) => {
        socket.resetAndDestroy();
        refusals.note({ app, port, why: toErrorMessage(error) });
      });
    });
    server.on('error', (error) => {
      // The error is that of one connection that could not be taken, as where too many files are open.
      if (server.listening) {
        refusals.note({ app, port, why: toErrorMessage(error) });
        return;
      }
      this.#listeners.delete(key);
      if (this.#refused.has(key)) return;
      this.#refused.add(key);
      log.warn({ app, host, port, why: toErrorMessage(error) }, 'a service of an app cannot be listened for');
    });
    this.#listeners.set(key, { server, callers });
    server.listen({ host, port, backlog: BACKLOG }, () => {
      this.#refused.delete(key);
      log.info({ app, host, port }, 'a service of an app is listened for');
    });
  }

  async #close(key: string): Promise<void> {
    const listener = this.#listeners.get(key);
    if (listener === undefined) return;
    this.#listeners.delete(key);
    const closed = new Promise((resolve) => listener.server.close(resolve));
    for (const socket of listener.callers) socket.resetAndDestroy();
    await closed;
  }
}

function toKey(app: string, port: number): string {
  return `${app} ${port}`;
}

/** A connection that breaks also closes, and the close is what is watched. */
function ignore(): void {}
