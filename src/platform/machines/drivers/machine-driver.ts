// The interface of a driver: the code that really runs machines. A driver starts, freezes and ends machines and reports their state;
// it holds no policy and no record.

import type { Server } from 'node:net';
import type { MachineConfig } from '../../../contract/machine-config.ts';
import type { DiscardCause } from '../../../contract/machine-events.ts';
import type { MachineCheckpoints } from './machine-checkpoints.ts';
import type { MachineVolumes } from './machine-volumes.ts';

/** What a driver needs to boot a machine. */
export interface MachineSpec {
  readonly id: string;
  readonly app: string;
  /** The id of this instance; every boot has a new one. */
  readonly instance_id: string;
  readonly region: string;
  readonly private_ip: string;
  readonly memory_mb: number;
  readonly sprite: string;
  readonly config: MachineConfig;
  /** Variables of the configuration, for the agent and what it runs. */
  readonly environment: Readonly<Record<string, string>>;
  readonly volumes: readonly MountedVolume[];
  /** A boot begins with a root file system as new, without what the instances before have written. */
  readonly resetsRoot: boolean;
}

export interface MountedVolume {
  readonly id: string;
  /** Where it is in the machine. */
  readonly path: string;
}

/** Why a driver cannot continue a machine from its snapshot. */
export type SnapshotFault = Extract<DiscardCause, 'lost' | 'corrupted' | 'maintenance'>;

/** `discarded`: nothing of the instance is left, and the caller boots the machine; its files are as they were. */
export type Resumption =
  | { readonly outcome: 'resumed' }
  | { readonly outcome: 'discarded'; readonly cause: SnapshotFault };

export type DriverState = 'running' | 'suspended' | 'stopped';

/** How an instance ended. Either `exit_code` or `signal` is set; both are null when the platform did not see the end. */
export interface InstanceEnd {
  readonly exit_code: number | null;
  readonly signal: string | null;
  /** The kernel has killed a process of it for want of memory; absent where nobody knows. */
  readonly oom_killed?: boolean;
}

/**
 * The last instance of a machine, as an earlier platform process left it. `over`: it ended while no platform ran. `lost`: it ended
 * because the host was restarted.
 */
export interface FoundInstance {
  readonly id: string;
  readonly instance_id: string;
  readonly state: 'running' | 'suspended' | 'over' | 'lost';
}

/** The memory of the host of a driver. */
export interface HostMemory {
  /** What its machines may have together, suspended ones included; null where nothing bounds it. */
  readonly total_mb: number | null;
  /** What those that run hold now. Pages that they share count for each. */
  readonly resident_mb: number;
}

/** Disposing of a driver leaves machines as they are, or ends them, by its setting. */
export interface MachineDriver extends AsyncDisposable {
  /** Finds and follows what an earlier platform process left running. Resolves with each machine's last instance. Called once, before anything else. */
  findInstances(): Promise<readonly FoundInstance[]>;
  /** Boots a machine. Resolves when it runs; throws `internal` when it cannot be started. */
  start(spec: MachineSpec): Promise<void>;
  /** Resolves when nothing of the machine runs any more. Throws when it cannot be frozen, `storage_full` for want of room; it then runs on. */
  suspend(id: string): Promise<void>;
  /** Continues a suspended machine, with the instance id of its boot. A snapshot that cannot be used is an outcome, and no error. */
  resume(spec: MachineSpec): Promise<Resumption>;
  /** Throws the memory of a suspended machine away and keeps its files; its state is then `stopped`. Does nothing for any other machine. */
  dropSnapshot(id: string): Promise<void>;
  /** Ends a machine, frozen or not: first with `signal`, by force after `timeout_ms`. Resolves when nothing is left of it. */
  stop(id: string, options: StopOptions): Promise<void>;
  /** Deletes the files of a machine that does not run. */
  discard(id: string): Promise<void>;
  readonly checkpoints: MachineCheckpoints;
  readonly volumes: MachineVolumes;
  /** Throws `unsupported_by_driver`, with the field, for a configuration that this driver cannot carry out. */
  checkConfig(config: MachineConfig): void;
  /** Sends a signal to what the machine runs first. Throws `invalid_state` when it does not run, and `unsupported_by_driver`. */
  signal(id: string, signal: StopSignal): Promise<void>;
  state(id: string): DriverState;
  capacity(): Promise<HostMemory>;
  /** The end of what the machine wrote to its log, the newest line last. */
  lastLines(id: string): readonly string[];
  /** The networks of the machines that run and have a way to private addresses; absent where machines have no network of their own. */
  readonly privateNetworks?: () => readonly MachineNetwork[];
  /** Runs after an instance has ended, for whatever reason, and nothing of it runs. When `listener` rejects, `stop` rejects with that. */
  onExit(listener: (id: string, exit: InstanceEnd) => Promise<void>): void;
}

/** The network of a machine, in which nobody is but the machine and the platform. */
export interface MachineNetwork {
  readonly machine_id: string;
  /** Another one after each start and resume. */
  readonly id: string;
  /** Puts an IPv6 address there, and listens at each of the ports, in their order; there may be none. Throws `internal`. */
  listen(address: string, ports: readonly number[]): Promise<readonly Server[]>;
}

export interface StopOptions {
  readonly signal: StopSignal;
  readonly timeout_ms: number;
}

export const stopSignals = ['SIGTERM', 'SIGINT', 'SIGQUIT', 'SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGKILL'] as const;
export type StopSignal = (typeof stopSignals)[number];
