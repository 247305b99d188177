// Wires the machines of this host and the sprites that they belong to.
import { dirname, join } from 'node:path';
import type { Clock } from '../core/clock.ts';
import type { Changes } from './changes.ts';
import { createProcessDriver } from './machines/drivers/process/process-driver.ts';
import { createMachineService, type MachineService } from './machines/moves/machine-service.ts';
import { createMachineToken } from './machines/records/machine-token.ts';
import type { Stores } from './open-stores.ts';
import type { PlatformAddresses } from './platform-addresses.ts';
import type { PlatformOptions } from './platform-options.ts';
import { recordMove } from './sprites/record-move.ts';
import { createSpriteService, type SpriteService } from './sprites/sprite-service.ts';

export interface MachineParts {
  /** The caller must dispose of it. */
  readonly machineService: MachineService;
  readonly spriteService: SpriteService;
}

export interface OpenMachinesDeps {
  readonly options: PlatformOptions;
  readonly stores: Stores;
  /** Has a directory for each machine. */
  readonly machinesDir: string;
  readonly addresses: PlatformAddresses;
  readonly changes: Changes;
  readonly clock: Clock;
}

const FREEZE_DELAY_MS = 300;
const START_DEADLINE_MS = 30_000;

/** Starts no machine: `reconcile` and `carryOn` of the service do. */
export function openMachines(deps: OpenMachinesDeps): MachineParts {
  const { options, stores, machinesDir, addresses, changes, clock } = deps;
  const { storage, host, machines, sprites } = stores;
  const driver = createProcessDriver({
    dir: machinesDir,
    volumesDir: join(dirname(machinesDir), 'volumes'),
    command: options.agentCommand,
    platformUrl: addresses.url,
    machinesUrl: addresses.ownUrl,
    nodeUrl: options.nodeUrl,
    createToken: (id) => createMachineToken(storage, id, clock.wall_ms()),
    endMachines: options.endMachines ?? false,
    log: options.log,
  });
  const machineService = createMachineService({
    storage,
    host,
    machines,
    async onMove(move) {
      await recordMove(sprites, move);
      changes.publish({ type: 'machine_moved', sprite_id: move.sprite_id, state: move.state });
    },
    onEvent: (machine_id) => changes.publish({ type: 'machine_event', machine_id }),
    driver,
    clock,
    freezeDelay_ms: options.freezeDelay_ms ?? FREEZE_DELAY_MS,
    startDeadline_ms: options.startDeadline_ms ?? START_DEADLINE_MS,
    log: options.log,
  });
  const spriteService = createSpriteService({ storage, sprites, machines, machineService, changes, clock });
  return { machineService, spriteService };
}
