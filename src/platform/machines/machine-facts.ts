// A machine record turned into what others ask about it: the rule for suspend, the driver, and the caller. Pure.
import type { Machine } from '../../contract/machines.ts';
import { toDateTime } from '../../core/clock.ts';
import type { MachineFacts } from '../../core/suspend-eligibility.ts';
import type { MachineSpec } from './driver.ts';
import type { MachineRow } from './machine-store.ts';

export const DEFAULT_MEMORY_MB = 256;

/** For document 3, "Suspend eligibility": a configuration that names no swap and no schedule has none. */
export function toMachineFacts(row: MachineRow): MachineFacts {
  return {
    memory_mb: row.config.guest?.memory_mb ?? DEFAULT_MEMORY_MB,
    swap_mb: row.config.init?.swap_size_mb ?? 0,
    schedule: row.config.schedule ?? null,
    updated_at: toDateTime(row.updated_at),
  };
}

export function toMachineSpec(row: MachineRow, sprite: string): MachineSpec {
  const { id, app, instance_id, region, private_ip } = row;
  return {
    id,
    app,
    instance_id,
    region,
    private_ip,
    memory_mb: row.config.guest?.memory_mb ?? DEFAULT_MEMORY_MB,
    sprite,
  };
}

export function toMachineRecord(row: MachineRow): Machine {
  const { id, name, state, region, instance_id, private_ip, config } = row;
  return {
    id,
    name,
    state,
    region,
    instance_id,
    private_ip,
    config,
    ...(row.role === null ? {} : { metadata: { role: row.role } }),
    ...(row.last_exit === null ? {} : { last_exit: row.last_exit }),
    created_at: toDateTime(row.created_at),
    updated_at: toDateTime(row.updated_at),
  };
}
