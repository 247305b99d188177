// Connects a caller to a TCP service of an app: at a machine that has a place, which is started if need be, with the header that the service
// wants.
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { MachineRow } from '../machines/records/machine-row.ts';
import { type AppPlaces, type PlaceSeeker, portOf } from './app-places.ts';
import { toAddress } from './caller-facts.ts';
import { joinPipe } from './join-pipe.ts';
import { toAuthority } from './machine-calls.ts';
import { findTcpPort, toServing } from './tcp-port.ts';
import { type ProxyVersion, toProxyHeader } from './write-proxy-header.ts';

export interface TcpCallsDeps {
  /** All machines of an app, as the database has them now. */
  readonly findMachines: (app: string) => Promise<readonly MachineRow[]>;
  readonly places: AppPlaces;
}

/** A port of an app at which a caller has connected. */
export interface TcpTarget {
  readonly app: string;
  readonly port: number;
  /** The machines of the app, as they were a moment ago. */
  readonly machines: readonly MachineRow[];
}

export class TcpCalls {
  readonly #deps: TcpCallsDeps;

  constructor(deps: TcpCallsDeps) {
    this.#deps = deps;
  }

  /** Resolves when the connection is over. Throws where no machine takes it, and leaves the caller open then. */
  async serve(socket: Socket, { app, port, machines }: TcpTarget): Promise<void> {
    const gone = new AbortController();
    socket.once('close', () => gone.abort(new Error('the caller went away')));
    const findMachines = async () => toServing(await this.#deps.findMachines(app), port);
    const seeker = { app: `${app} ${port}`, findMachines, gone: gone.signal };
    const refused = await this.#try(socket, port, seeker, toServing(machines, port));
    if (refused !== undefined) await this.#try(socket, port, seeker, await findMachines(), refused);
  }

  /** Resolves when the connection is over, or with the machine in which nothing took it: another one may. Throws after the second. */
  async #try(
    socket: Socket,
    port: number,
    seeker: PlaceSeeker,
    machines: readonly MachineRow[],
    refused?: string,
  ): Promise<string | undefined> {
    const { places } = this.#deps;
    const { machine, channel, counted } = await places.take(seeker, machines, refused);
    try {
      const stream = await channel.connect(toAuthority(portOf(machine)), seeker.gone);
      places.refusals.onAnswer(machine.id);
      await join(socket, stream.on('error', ignore), findTcpPort(machine, port)?.header, port);
      return undefined;
    } catch (error) {
      places.refusals.onRefusal(machine.id);
      if (refused !== undefined || seeker.gone.aborted) throw error;
      return machine.id;
    } finally {
      counted[Symbol.dispose]();
      places.release(seeker.app);
    }
  }
}

async function join(socket: Socket, stream: Duplex, header: ProxyVersion | undefined, port: number): Promise<void> {
  if (socket.destroyed) {
    stream.destroy();
    return;
  }
  if (header !== undefined) {
    const caller = { address: toAddress(socket.remoteAddress), port: socket.remotePort ?? 0 };
    stream.write(toProxyHeader(header, caller, { address: toAddress(socket.localAddress), port }));
  }
  await joinPipe(socket, stream);
}

/** A connection that breaks also closes, and the close is what is watched. */
function ignore(): void {}
