// What a machine has when nothing else is asked for.
import { DEFAULT_MEMORY_MB } from './machine-views.ts';

/** The one region that there is, and the processors that the record of every machine has. */
export const REGION = 'local';
export const CPUS = 1;

/** What runs a machine whose creator says nothing of it. */
export interface MachineDefaults {
  /** The name of the driver. */
  readonly driver: string;
  readonly memory_mb: number;
}

/** Processes of this host. */
export const PROCESS_DEFAULTS: MachineDefaults = { driver: 'process', memory_mb: DEFAULT_MEMORY_MB };
