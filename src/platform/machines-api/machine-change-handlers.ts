// The operations that make, change and delete machines.
import { machineChangeOperations as operations } from '../../contract/machine-changes.ts';
import { type Clock, toDateTime } from '../../core/clock.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Handlers } from '../../http/handler.ts';
import type { AppService } from '../apps/app-service.ts';
import type { MachineAccess, MachineCall } from '../machines/access/machine-access.ts';
import type { Place } from '../machines/access/place.ts';
import { toStopOptions, toStopSignal } from '../machines/access/stop-options.ts';
import type { MachineService } from '../machines/moves/machine-service.ts';
import { createDestroyedMachines } from '../machines/records/destroyed-machines.ts';
import { createMachineConfigStore } from '../machines/records/machine-config-store.ts';
import type { MachineDefaults } from '../machines/records/machine-defaults.ts';
import type { MachineRow } from '../machines/records/machine-row.ts';
import type { MachineStore } from '../machines/records/machine-store.ts';
import { toMachineRecord } from '../machines/records/machine-views.ts';
import type { SpriteService } from '../sprites/sprite-service.ts';
import type { Storage } from '../storage/storage.ts';
import { organizationOf, type Principal } from '../tokens/principal.ts';
import { createMachine } from './create-machine.ts';
import { updateMachine } from './update-machine.ts';

export interface MachineChangeDeps {
  readonly storage: Storage;
  readonly apps: Pick<AppService, 'find'>;
  readonly machines: Pick<MachineStore, 'find'>;
  /** The record of a sprite goes with its machine. */
  readonly sprites: Pick<SpriteService, 'delete'>;
  readonly access: MachineAccess;
  readonly service: MachineService;
  readonly place: Place;
  /** What runs the machines of this platform. */
  readonly defaults: MachineDefaults;
  /** The id of this platform process. */
  readonly host: string;
  readonly clock: Clock;
}

type Rows = typeof operations;

const ok = { ok: true } as const;

export function createMachineChangeHandlers(deps: MachineChangeDeps): Handlers<Rows, Principal> {
  const { storage, access, service, clock } = deps;
  const configs = createMachineConfigStore(storage);

  async function setCordoned(call: MachineCall, operation: Rows['cordonMachine' | 'uncordonMachine'], to: boolean) {
    const { id } = await access.findToChange(call, operation);
    await configs.setCordoned(id, to, clock.wall_ms());
    return ok;
  }

  return {
    createMachine: (call) => createMachine(deps, call),
    updateMachine: (call) => access.move(call, operations.updateMachine, (row) => updateMachine(deps, call, row)),
    destroyMachine: (call) =>
      access.move(call, operations.destroyMachine, async (row) => {
        if (!call.query.force && !call.query.kill) checkDown(row);
        await deps.sprites.delete(organizationOf(call.principal), row.sprite);
        const record = { ...toMachineRecord(row), state: 'destroyed' } as const;
        await createDestroyedMachines(storage).add({ ...row, record }, clock.wall_ms());
        return ok;
      }),
    restartMachine: (call) =>
      access.move(call, operations.restartMachine, async ({ id, config }) => {
        const { force_stop, ...asked } = { ...call.query, ...call.body };
        const options = toStopOptions(force_stop ? { signal: 'SIGKILL', timeout: 0 } : asked, config);
        await deps.place(id, call.signal, () => service.restart(id, options));
        return ok;
      }),
    signalMachine: (call) =>
      access.move(call, operations.signalMachine, async ({ id }) => {
        await service.signal(id, toStopSignal(call.body.signal, 'body.signal'));
        return ok;
      }),
    async listMachineVersions(call) {
      const { id } = await access.find(call, operations.listMachineVersions);
      return (await configs.listVersions(id)).map(({ version, config, created_at }) => ({
        version,
        user_config: config,
        created_at: toDateTime(created_at),
      }));
    },
    cordonMachine: (call) => setCordoned(call, operations.cordonMachine, true),
    uncordonMachine: (call) => setCordoned(call, operations.uncordonMachine, false),
  };
}

function checkDown({ state }: MachineRow): void {
  if (state !== 'running' && state !== 'starting' && state !== 'suspending' && state !== 'suspended') return;
  const message = `the machine is ${state}; stop it first, or delete it with force=true`;
  throw new RemoraError('invalid_state', message, { details: { state } });
}
