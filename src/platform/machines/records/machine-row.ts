// A machine as it is recorded: its configuration, its last recorded state, and how a stored row is read. Pure.
import { type MachineConfig, machineConfig } from '../../../contract/machine-config.ts';
import { type DiscardCause, discardCause } from '../../../contract/machine-events.ts';
import {
  type MachineExit,
  type MachineRole,
  type MachineStatus,
  machineExit,
  machineRole,
  machineStatus,
} from '../../../contract/machines.ts';

/** The state that was asked for last, stored before anything is done. A machine that ended by itself or with its host is started again only when this is `running`. */
const wantedStates = ['running', 'suspended', 'stopped', 'destroyed'] as const;
export type WantedState = (typeof wantedStates)[number];

export interface MachineRow {
  readonly id: string;
  readonly app: string;
  readonly organization_id: string;
  readonly sprite_id: string;
  /** The name of the sprite. */
  readonly sprite: string;
  readonly name: string;
  readonly region: string;
  readonly private_ip: string;
  readonly config: MachineConfig;
  readonly state: MachineStatus;
  readonly wanted: WantedState;
  /** The id of the last instance; empty before the first boot. */
  readonly instance_id: string;
  readonly last_exit: MachineExit | null;
  readonly role: MachineRole | null;
  /** The version of the agent that reported last; null before the first report. */
  readonly agent_version: string | null;
  /** The platform process that runs it and has its disk; null until it starts for the first time. */
  readonly host: string | null;
  readonly created_at: number;
  /** The time of the last change that callers can see. */
  readonly updated_at: number;
  /** The time of the last change of the configuration. */
  readonly config_updated_at: number;
  /** Names the configuration; empty for one that was never changed and is of an older platform. */
  readonly version: string;
  /** False while `instance_id` names an instance that has not begun: the next boot is that one. */
  readonly booted: boolean;
  /** The nonce of the lease, which may be over; null when there is none. */
  readonly lease_nonce: string | null;
  readonly lease_owner: string | null;
  readonly lease_description: string | null;
  /** Unix milliseconds. */
  readonly lease_expires_at: number | null;
  /** It gets no traffic through a proxy. */
  readonly cordoned: boolean;
  /** It was made by the machines API: its sprite is in no list, and a stop resets its root file system. */
  readonly machine_only: boolean;
  /** Its files are those of a checkpoint, and no boot since has brought it up: the next one keeps them. */
  readonly restored: boolean;
  /** Why the snapshot of the suspended machine was thrown away; null while it is valid, and after the next boot. */
  readonly discarded: DiscardCause | null;
  /** Why the last boot was one without memory; null when there was none to be lost. */
  readonly boot_cause: DiscardCause | null;
  /** How often it was started again in a row after it ended early. */
  readonly restart_count: number;
  /** The time of the last boot; null before the first. */
  readonly started_at: number | null;
  /** The time of the last change of the state. */
  readonly state_since: number;
}

export type NewMachine = Omit<
  MachineRow,
  | 'sprite'
  | 'state'
  | 'wanted'
  | 'instance_id'
  | 'last_exit'
  | 'role'
  | 'agent_version'
  | 'host'
  | 'created_at'
  | 'updated_at'
  | 'config_updated_at'
  | 'discarded'
  | 'boot_cause'
  | 'restart_count'
  | 'started_at'
  | 'state_since'
  | 'version'
  | 'booted'
  | 'cordoned'
  | 'machine_only'
  | 'restored'
  | 'lease_nonce'
  | 'lease_owner'
  | 'lease_description'
  | 'lease_expires_at'
>;

export interface StoredMachine
  extends Omit<
    MachineRow,
    | 'config'
    | 'state'
    | 'wanted'
    | 'role'
    | 'last_exit'
    | 'discarded'
    | 'boot_cause'
    | 'booted'
    | 'cordoned'
    | 'machine_only'
    | 'restored'
  > {
  readonly discarded: string | null;
  readonly boot_cause: string | null;
  readonly booted: number;
  readonly cordoned: number;
  readonly machine_only: number;
  readonly restored: number;
  readonly config: string;
  readonly role: string | null;
  readonly state: string;
  readonly wanted: string;
  readonly last_exit: string | null;
}

export function toRow(stored: StoredMachine | undefined): MachineRow | undefined {
  return stored === undefined ? undefined : parseRow(stored);
}

export function parseRow(stored: StoredMachine): MachineRow {
  return {
    ...stored,
    config: machineConfig.safeParse(parseJson(stored.config)).data ?? {},
    state: machineStatus.safeParse(stored.state).data ?? 'stopped',
    wanted: wantedStates.find((wanted) => wanted === stored.wanted) ?? 'stopped',
    discarded: discardCause.safeParse(stored.discarded).data ?? null,
    boot_cause: discardCause.safeParse(stored.boot_cause).data ?? null,
    role: machineRole.safeParse(stored.role).data ?? null,
    booted: stored.booted !== 0,
    cordoned: stored.cordoned !== 0,
    machine_only: stored.machine_only !== 0,
    restored: stored.restored !== 0,
    last_exit: machineExit.safeParse(parseJson(stored.last_exit)).data ?? null,
  };
}

/** A damaged row must not keep the platform from starting: it counts as a stopped machine with an empty configuration. */
function parseJson(text: string | null): unknown {
  if (text === null) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
