// The rows of the machines API (document 3, "Machines API"): whose machine it is, and then what the service does with it.

import { parseDuration } from '../../contract/duration.ts';
import type { machineOperations, StopMachineRequest } from '../../contract/machines.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Handlers } from '../../http/handler.ts';
import type { Principal } from '../tokens/principal.ts';
import { type StopOptions, stopSignals } from './driver.ts';
import { findMachineFor, type MachinePath } from './find-machine.ts';
import { toMachineRecord } from './machine-facts.ts';
import type { MachineService } from './machine-service.ts';
import type { MachineStore } from './machine-store.ts';

export interface MachineHandlerDeps {
  readonly machines: MachineStore;
  readonly service: MachineService;
  readonly log: { error(fields: object, message: string): void };
}

const STOP_TIMEOUT_MS = 5_000;
const STOP_TIMEOUT_MAX_MS = 300_000;

export function createMachineHandlers(deps: MachineHandlerDeps): Handlers<typeof machineOperations, Principal> {
  const { machines, service } = deps;

  const findFor = (principal: Principal, path: MachinePath) => findMachineFor(principal, path, machines);

  return {
    readMachine: async ({ principal, params }) => toMachineRecord(await findFor(principal, params)),
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
      const previous_state = await service.start((await findFor(principal, params)).id);
      return { previous_state, migrated: false };
    },
    async stopMachine({ principal, params, body }) {
      const { id } = await findFor(principal, params);
      await service.check(id);
      // Not awaited: the call may come from the machine itself, which cannot end before its own call is answered.
      service.stop(id, toStopOptions(body)).catch((error: unknown) => {
        deps.log.error({ err: error, machine: id }, 'a machine could not be stopped');
      });
      return { ok: true };
    },
    async setMachineRole({ principal, params, body }) {
      await machines.setRole((await findFor(principal, params)).id, body.value);
    },
  };
}

/** Throws `invalid_request` naming the field. A timeout beyond five minutes is cut to that. */
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
