// The operations of machines (Suspend and Replication, Machines API): each checks whose machine it is, then asks the service.

import { join } from 'node:path';
import { machineOperations as operations } from '../../contract/machines.ts';
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Handlers } from '../../http/handler.ts';
import type { AppService } from '../apps/app-service.ts';
import type { IncarnationStore } from '../fencing/incarnation-store.ts';
import { organizationOf, type Principal } from '../tokens/principal.ts';
import type { MachineAccess } from './access/machine-access.ts';
import { toStopOptions } from './access/stop-options.ts';
import { MACHINE_LOG } from './drivers/last-lines.ts';
import { listMachines } from './list-machines.ts';
import { readLog } from './machine-log.ts';
import type { MachineService } from './moves/machine-service.ts';
import type { StartedMachine } from './moves/machine-starts.ts';
import type { DestroyedMachines } from './records/destroyed-machines.ts';
import { findMachineFor, type MachinePath } from './records/find-machine.ts';
import type { MachineStore } from './records/machine-store.ts';
import { toMachineRecord } from './records/machine-views.ts';

export interface MachineHandlerDeps {
  readonly apps: Pick<AppService, 'find'>;
  readonly machines: MachineStore;
  readonly destroyed: Pick<DestroyedMachines, 'list'>;
  readonly access: MachineAccess;
  readonly service: MachineService;
  /** Starts a machine, perhaps after it has waited for a place. Throws what `MachineService.start` throws. */
  readonly start: (id: string, signal: AbortSignal) => Promise<StartedMachine>;
  readonly clock: Clock;
  /** The id of this platform process among those on the database; undefined where the platform does not run. */
  readonly host: string | undefined;
  /** The directory of the machines of this host. */
  readonly machinesDir: string;
  readonly incarnations: Pick<IncarnationStore, 'adopt'>;
  readonly log: Log;
}

/** How many unsent bytes a reader of a log may have before no more of the file is read. */
const LOG_ROOM_BYTES = 256 * 1024;

const ok = { ok: true } as const;

export function createMachineHandlers(deps: MachineHandlerDeps): Handlers<typeof operations, Principal> {
  const { machines, service, access } = deps;

  const findFor = (principal: Principal, path: MachinePath) => findMachineFor(principal, path, machines);

  return {
    async listMachines({ principal, params, query }) {
      const organization = organizationOf(principal);
      const { name } = await deps.apps.find(organization, params.app_name);
      return await listMachines(deps, organization.id, name, query);
    },
    readMachine: async (call) => toMachineRecord(await access.find(call, operations.readMachine)),
    async readMachineLog({ principal, params, query }, sink) {
      const machine = await findFor(principal, params);
      if (machine.config.external === true) {
        throw new RemoraError('external_machine', 'this machine is run elsewhere, and its log is there');
      }
      if (deps.host !== undefined && machine.host !== null && machine.host !== deps.host) {
        const message = 'another platform process runs this machine, and has its log; call that one';
        throw new RemoraError('other_host', message, { details: { host: machine.host } });
      }
      sink.open();
      const gone = new AbortController();
      sink.onClose(() => gone.abort());
      const hasRoom = () => sink.waiting_bytes < LOG_ROOM_BYTES;
      const onLine = (line: string) => sink.send({ line });
      const path = join(deps.machinesDir, machine.id, MACHINE_LOG);
      await readLog(path, { ...query, signal: gone.signal, onLine, hasRoom });
      sink.end();
    },
    suspendMachine: (call) =>
      access.move(call, operations.suspendMachine, async ({ id }) => {
        await service.suspend(id);
        return ok;
      }),
    async waitMachine(call) {
      const { state, instance_id, timeout } = call.query;
      const row = await access.find(call, operations.waitMachine);
      const passed = await access.pass(row.host, call, operations.waitMachine);
      if (passed !== undefined) return passed.value;
      await service.wait(row.id, { state, instance_id, timeout_ms: timeout * 1_000, signal: call.signal });
      return { ok: true };
    },
    startMachine: (call) =>
      access.move(call, operations.startMachine, async ({ id }) => {
        const started = await deps.start(id, call.signal);
        const migrated = started.cold_start === 'migrate';
        return { ...started, migrated, ...(migrated && deps.host !== undefined ? { new_host: deps.host } : {}) };
      }),
    stopMachine: (call) =>
      access.move(call, operations.stopMachine, async ({ id, config }) => {
        const { ended } = await service.stop(id, toStopOptions(call.body, config));
        // Not awaited: the machine itself may be the caller, and it cannot end before its call is answered.
        ended.catch((error: unknown) => {
          deps.log.error({ err: error, machine: id }, 'a machine could not be stopped');
        });
        return ok;
      }),
    async adoptMachine({ principal, params }) {
      const { id, sprite_id } = await findFor(principal, params);
      await deps.incarnations.adopt(sprite_id);
      const token = principal.type === 'organization' ? principal.token.id : null;
      const audit = { audit: 'machine_adoption_allowed', machine: id, token };
      deps.log.info(audit, 'the next agent that reports as a machine may take the place of the one that is served');
      return { ok: true };
    },
  };
}
