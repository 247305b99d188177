// What a policy does to a program that starts: words for `setpriv`, and the control group in which it runs.
import type { ProgramPolicy } from '../../contract/local/program-policy.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { BpfError } from '../../linux/kernel/bpf.ts';
import { type Cgroup, findUsableCgroup, openCgroup } from '../../linux/processes/cgroup.ts';
import { type Device, findDevice, openDeviceFilters, usualDevices } from '../../linux/processes/device-filter.ts';
import { LimitError, limitMemory } from '../../linux/processes/limited-group.ts';
import type { UnixUser } from '../../linux/users.ts';
import { findMissingPart } from './find-missing-part.ts';
import { toPrivilegeFlags } from './privilege-flags.ts';

/** What holds for one program from its start on. */
export interface Restraint {
  /** Words for `setpriv`. */
  readonly flags: readonly string[];
  /** Makes the control group of the program; undefined where it needs none and none can be made. Throws where it cannot be restricted. */
  openGroup(name: string): Cgroup | undefined;
}

const MB = 1024 * 1024;

/**
 * A new limit of memory holds for what runs under one already; all else begins with the start of a program. Throws `not_supported` with what is
 * missing here.
 */
export async function toRestraint({ privileges, resources }: ProgramPolicy, user: UnixUser): Promise<Restraint> {
  const flags = toPrivilegeFlags(privileges);
  const { devices = [] } = privileges;
  const { memory } = resources;
  if (flags.length === 0 && devices.length === 0 && memory === undefined) return { flags, openGroup: openCgroup };
  const missing = findMissingPart(user);
  if (missing !== undefined) throw notSupported(missing);
  if (memory?.autoscale === true) throw notSupported('memory that grows with its use (autoscale)');
  const within = memory === undefined ? findUsableCgroup() : orRefuse(() => limitMemory(memory.limit_mb * MB));
  const filter = devices.length === 0 ? undefined : await toFilter(devices);
  return {
    flags,
    openGroup(name) {
      const group = openCgroup(name, within);
      if (group === undefined && (memory !== undefined || filter !== undefined)) throw notSupported(NO_GROUP);
      try {
        if (group !== undefined) filter?.(group);
      } catch (error) {
        group?.remove();
        throw error;
      }
      return group;
    },
  };
}

const NO_GROUP = 'a control group of version 2 for the supervisor alone, as remora-supervisor.service has it';

async function toFilter(paths: readonly string[]): Promise<(group: Cgroup) => void> {
  const named = paths.map(findDevice).filter((device): device is Device => device !== undefined);
  const filters = await openDeviceFilters().catch((error: unknown) => {
    throw toRefusal(error);
  });
  return ({ path }) => orRefuse(() => filters.set(path, [...usualDevices, ...named]));
}

function orRefuse<T>(step: () => T): T {
  try {
    return step();
  } catch (error) {
    throw toRefusal(error);
  }
}

function toRefusal(error: unknown): unknown {
  const isMissing = error instanceof BpfError || error instanceof LimitError;
  return isMissing ? notSupported(error.message) : error;
}

function notSupported(missing: string): RemoraError {
  const message = `what the policy of this sprite asks for cannot be enforced here: it needs ${missing}`;
  return new RemoraError('not_supported', message, { details: { missing } });
}
