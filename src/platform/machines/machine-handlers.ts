// The operations of machines (Suspend and Replication, Machines API): each checks whose machine it is, then asks the service.

import { join } from 'node:path';
import { parseDuration } from '../../contract/duration.ts';
import type { machineOperations, StopMachineRequest } from '../../contract/machines.ts';
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Handlers } from '../../http/handler.ts';
import type { AppService } from '../apps/app-service.ts';
import type { IncarnationStore } from '../fencing/incarnation-store.ts';
import { organizationOf, type Principal } from '../tokens/principal.ts';
import { MACHINE_LOG } from './drivers/last-lines.ts';
import { type StopOptions, stopSignals } from './drivers/machine-driver.ts';
import { readLog } from './machine-log.ts';
import type { MachineService } from './moves/machine-service.ts';
import { findMachineFor, type MachinePath } from './records/find-machine.ts';
import type { MachineStore } from './records/machine-store.ts';
import { toMachineRecord } from './records/machine-views.ts';

export interface MachineHandlerDeps {
  readonly apps: Pick<AppService, 'find'>;
  readonly machines: MachineStore;
  readonly service: MachineService;
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
const STOP_TIMEOUT_MS = 5_000;
const STOP_TIMEOUT_MAX_MS = 300_000;

export function createMachineHandlers(deps: MachineHandlerDeps): Handlers<typeof machineOperations, Principal> {
  const { machines, service } = deps;

  const findFor = (principal: Principal, path: MachinePath) => findMachineFor(principal, path, machines);

  return {
    async listMachines({ principal, params, query }) {
      const organization = organizationOf(principal);
      const { name } = await deps.apps.find(organization, params.app_name);
      return (await machines.list(organization.id, name, query)).map(toMachineRecord);
    },
    readMachine: async ({ principal, params }) => toMachineRecord(await findFor(principal, params)),
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
    async suspendMachine({ principal, params }) {
      await service.suspend((await findFor(principal, params)).id);
      return { ok: true };
    },
    async waitMachine({ principal, params, query, signal }) {
      const { id } = await findFor(principal, params);
      const { state, instance_id, timeout } = query;
      await service.wait(id, { state, instance_id, timeout_ms: timeout * 1_000, signal });
      return { ok: true };
    },
    async startMachine({ principal, params }) {
      const started = await service.start((await findFor(principal, params)).id);
      return { ...started, migrated: false };
    },
    async stopMachine({ principal, params, body }) {
      const { id } = await findFor(principal, params);
      const { ended } = await service.stop(id, toStopOptions(body));
      // Not awaited: the machine itself may be the caller, and it cannot end before its call is answered.
      ended.catch((error: unknown) => {
        deps.log.error({ err: error, machine: id }, 'a machine could not be stopped');
      });
      return { ok: true };
    },
    async adoptMachine({ principal, params }) {
      const { id, sprite_id } = await findFor(principal, params);
      await deps.incarnations.adopt(sprite_id);
      const token = principal.type === 'organization' ? principal.token.id : null;
      const audit = { audit: 'machine_adoption_allowed', machine: id, token };
      deps.log.info(audit, 'the next agent that reports as a machine may take the place of the one that is served');
      return { ok: true };
    },
    async setMachineRole({ principal, params, body }) {
      await machines.setRole((await findFor(principal, params)).id, body.value, deps.clock.wall_ms());
    },
  };
}

/** Throws `invalid_request` naming the field. A timeout over five minutes is cut to five minutes. */
function toStopOptions(body: StopMachineRequest | undefined): StopOptions {
  const name = body?.signal ?? 'SIGTERM';
  const signal = stopSignals.find((known) => known === name || known === `SIG${name}`);
  if (signal === undefined) throw refuse('signal', `expected one of ${stopSignals.join(', ')}`);
  const { timeout } = body ?? {};
  const timeout_ms =
    typeof timeout === 'number' ? timeout * 1_000 : timeout === undefined ? STOP_TIMEOUT_MS : parseDuration(timeout);
  if (timeout_ms === undefined) throw refuse('timeout', 'expected seconds, or text such as 30s');
  return { signal, timeout_ms: Math.min(timeout_ms, STOP_TIMEOUT_MAX_MS) };
}

function refuse(name: string, message: string): RemoraError {
  const field = `body.${name}`;
  return new RemoraError('invalid_request', `${field}: ${message}`, { details: { fields: [{ field, message }] } });
}
