// The operation with which the proxy of another platform process reaches a machine of this one. The caller was judged where its request came
// in; here the machine is reached or refused, and never looked for any further.
import { HTTP_AUTHORITY, PORT_AUTHORITY } from '../../contract/channel.ts';
import { PASSED_HEADER } from '../../contract/hosts.ts';
import type { pipeOperations } from '../../contract/pipes.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Handlers } from '../../http/handler.ts';
import type { MachineStore } from '../machines/records/machine-store.ts';
import { organizationOf, type Principal } from '../tokens/principal.ts';
import { joinPipe } from './join-pipe.ts';
import type { MachineTraffic } from './machine-traffic.ts';
import type { MachineWays } from './machine-ways.ts';

export interface PipeHandlerDeps {
  readonly ways: Pick<MachineWays, 'check' | 'reachHere'>;
  readonly traffic: Pick<MachineTraffic, 'begin'>;
  readonly machines: Pick<MachineStore, 'find'>;
}

export function createPipeHandlers(deps: PipeHandlerDeps): Handlers<typeof pipeOperations, Principal> {
  const { ways, traffic, machines } = deps;
  return {
    async openPipe({ principal, params, query, request, upgrade, signal }) {
      if (upgrade === undefined) throw new Error('the pipe was not asked for by an upgrade');
      if (request.headers[PASSED_HEADER] === undefined) {
        throw new RemoraError(
          'forbidden',
          'this is for other platform processes only; call GET /v1/sprites/{name}/proxy',
        );
      }
      // The request counts before the state of the machine is read, see `MachineTraffic`.
      using _counted = traffic.begin(params.machine_id);
      const organization = organizationOf(principal);
      const machine = await machines.find(params.machine_id);
      // The record that the other process has read is out of date.
      if (machine?.organization_id !== organization.id || machine.app !== params.app_name) throw notHere();
      ways.check(machine);
      const reach = await ways.reachHere(machine, toPort(query.to), signal);
      const stream = await reach.connect(query.to, signal);
      if (signal.aborted) {
        stream.destroy();
        return;
      }
      const early = upgrade.accept([]);
      if (early.length > 0) upgrade.socket.unshift(early);
      await joinPipe(upgrade.socket, stream);
    },
  };
}

function notHere(): RemoraError {
  return new RemoraError('other_host', 'the machine is not at this platform process');
}

function toPort(authority: string): number | undefined {
  return authority === HTTP_AUTHORITY ? undefined : Number(PORT_AUTHORITY.exec(authority)?.[1]);
}
