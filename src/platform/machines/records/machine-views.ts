// Turns the row of a machine into what others see of it: the suspend rule, the driver, and the caller of the machines API. Pure.
import type { MachineConfig, RestartPolicy } from '../../../contract/machine-config.ts';
import type { Machine } from '../../../contract/machines.ts';
import { toDateTime } from '../../../core/clock.ts';
import type { MachineFacts } from '../../../core/machine/suspend-eligibility.ts';
import type { MachineSpec } from '../drivers/machine-driver.ts';
import { DEFAULT_RESTART } from './judge-restart.ts';
import type { MachineRow } from './machine-row.ts';

export const DEFAULT_MEMORY_MB = 256;

/** The facts of the suspend rule (Suspend and Replication, Suspend eligibility). No swap and no schedule in the configuration means none. */
export function toMachineFacts(row: Pick<MachineRow, 'config' | 'config_updated_at'>): MachineFacts {
  return {
    memory_mb: row.config.guest?.memory_mb ?? DEFAULT_MEMORY_MB,
    swap_mb: row.config.init?.swap_size_mb ?? 0,
    schedule: row.config.schedule ?? null,
    updated_at: toDateTime(row.config_updated_at),
  };
}

export function toMachineSpec(row: MachineRow): MachineSpec {
  const { id, app, sprite, instance_id, region, private_ip } = row;
  return {
    id,
    app,
    instance_id,
    region,
    private_ip,
    memory_mb: row.config.guest?.memory_mb ?? DEFAULT_MEMORY_MB,
    sprite,
    config: row.config,
    environment: row.config.env ?? {},
    volumes: (row.config.mounts ?? []).map(({ volume, path }) => ({ id: volume, path })),
    resetsRoot: row.machine_only && !keepsRoot(row),
  };
}

/**
 * Suspend does not reset the root file system, stop and a new version do: also where the snapshot of the suspended machine is gone. What a
 * checkpoint has put there outlives the boot that follows.
 */
function keepsRoot({ state, discarded, restored }: MachineRow): boolean {
  if (restored) return true;
  const isSuspended = state === 'suspended' || (state === 'starting' && discarded !== null);
  return isSuspended && discarded !== 'stopped' && discarded !== 'deploy';
}

export function toRestartPolicy(config: MachineConfig): RestartPolicy {
  return config.restart?.policy ?? DEFAULT_RESTART;
}

export function toMachineRecord(row: MachineRow): Machine {
  const { id, name, sprite, state, region, instance_id, private_ip, config } = row;
  return {
    id,
    name,
    sprite,
    state,
    region,
    instance_id,
    private_ip,
    version: row.version,
    ...(config.image === undefined ? {} : { image_ref: toImageRef(config.image) }),
    cordoned: row.cordoned,
    checks: [],
    config,
    ...(row.role === null ? {} : { metadata: { role: row.role } }),
    ...(row.last_exit === null ? {} : { last_exit: row.last_exit }),
    created_at: toDateTime(row.created_at),
    updated_at: toDateTime(row.updated_at),
  };
}

/** `registry/repository:tag@digest`, each part but the repository optional; an image of this platform has a name only. */
function toImageRef(image: string): NonNullable<Machine['image_ref']> {
  const [named = '', digest = ''] = image.split('@');
  const slash = named.indexOf('/');
  const first = named.slice(0, Math.max(slash, 0));
  const registry = /[.:]|^localhost$/.test(first) ? first : '';
  const rest = registry === '' ? named : named.slice(slash + 1);
  const [repository = '', tag = ''] = rest.split(':');
  return { registry, repository, tag, digest, labels: null };
}
