// Wires the machines of this host and the sprites that they belong to.
import type { Clock } from '../core/clock.ts';
import { randomFraction } from '../core/urandom.ts';
import type { Changes } from './changes.ts';
import { createDrainStore } from './hosts/drain-store.ts';
import { toStartDeadline } from './machine-deadlines.ts';
import type { MachineDriver } from './machines/drivers/machine-driver.ts';
import { createMachineService, type MachineService } from './machines/moves/machine-service.ts';
import { type MachineDefaults, PROCESS_DEFAULTS } from './machines/records/machine-defaults.ts';
import { createMachineToken } from './machines/records/machine-token.ts';
import { createVolumeService, type VolumeService } from './machines-api/volume-service.ts';
import { openDriver } from './open-driver.ts';
import type { Stores } from './open-stores.ts';
import type { PlatformAddresses } from './platform-addresses.ts';
import type { PlatformOptions } from './platform-options.ts';
import { toPolicyVariables } from './policy-variables.ts';
import { recordMove } from './sprites/record-move.ts';
import { createSpriteService, type SpriteService } from './sprites/sprite-service.ts';

export interface MachineParts {
  /** The caller must dispose of it. */
  readonly machineService: MachineService;
  readonly spriteService: SpriteService;
  /** What runs the machines. */
  readonly defaults: MachineDefaults;
  readonly volumeService: VolumeService;
  /** Absent where machines have no network of their own. */
  readonly privateNetworks?: NonNullable<MachineDriver['privateNetworks']>;
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
const UPKEEP_PERIOD_MS = 10_000;

/** A virtual machine has a system beside its agent. */
const EMULATED_DEFAULTS = { driver: 'qemu', memory_mb: 512 } as const;

/** Starts no machine: `reconcile` and `carryOn` of the service do. */
export async function openMachines(deps: OpenMachinesDeps): Promise<MachineParts> {
  const { options, stores, machinesDir, addresses, changes, clock } = deps;
  const { storage, host, machines, sprites } = stores;
  const driver = await openDriver({
    options,
    machinesDir,
    addresses,
    createToken: (id) => createMachineToken(storage, id, clock.wall_ms()),
  });
  const machineService = createMachineService({
    storage,
    host,
    machines,
    async onMove(move) {
      await recordMove(sprites, move);
      const { machine_id, sprite_id, state } = move;
      changes.publish({ type: 'machine_moved', machine_id, sprite_id, state });
    },
    onEvent: (machine_id) => changes.publish({ type: 'machine_event', machine_id }),
    driver,
    clock,
    policyVariables: (sprite_id) => toPolicyVariables(stores, sprite_id),
    readDrained: async () => (await createDrainStore(storage).drainedSince(host)) !== undefined,
    snapshotMaxAge_ms: options.snapshotMaxAge_ms,
    upkeepPeriod_ms: options.upkeepPeriod_ms ?? UPKEEP_PERIOD_MS,
    freezeDelay_ms: options.freezeDelay_ms ?? FREEZE_DELAY_MS,
    startDeadline_ms: toStartDeadline(options),
    random: randomFraction,
    log: options.log,
  });
  const defaults = options.qemu === undefined ? PROCESS_DEFAULTS : EMULATED_DEFAULTS;
  const spriteService = createSpriteService({ storage, sprites, machines, machineService, changes, clock, defaults });
  const volumeService = createVolumeService({ storage, files: driver.volumes, host, clock, log: options.log });
  const privateNetworks = options.privateNetworks ?? driver.privateNetworks;
  return { machineService, spriteService, volumeService, defaults, ...(privateNetworks && { privateNetworks }) };
}
