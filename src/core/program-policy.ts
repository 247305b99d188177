// What a policy of privileges and resources asks for, whatever way it is written. Pure.
import type { ProgramPolicy } from '../contract/local/program-policy.ts';
import type { PrivilegesPolicy, ResourcesPolicy } from '../contract/sprite-policies.ts';

/** What holds while nothing was set. */
export const noProgramPolicy: ProgramPolicy = { privileges: {}, resources: {} };

/** Leaves out the fields that say nothing, so that two policies that say the same are equal. */
export function toProgramPolicy({ privileges, resources }: ProgramPolicy): ProgramPolicy {
  return { privileges: toPrivileges(privileges), resources: toResources(resources) };
}

/** Whether it says nothing. */
export function isEmptyPolicy(policy: ProgramPolicy): boolean {
  const { privileges, resources } = toProgramPolicy(policy);
  return Object.keys(privileges).length === 0 && Object.keys(resources).length === 0;
}

function toPrivileges({ profile = '', devices = [], noNewPrivileges = false }: PrivilegesPolicy): PrivilegesPolicy {
  return {
    ...(profile === '' ? {} : { profile }),
    ...(devices.length === 0 ? {} : { devices }),
    ...(noNewPrivileges ? { noNewPrivileges } : {}),
  };
}

function toResources({ memory }: ResourcesPolicy): ResourcesPolicy {
  if (memory === undefined) return {};
  const { limit_mb, autoscale = false } = memory;
  return { memory: { limit_mb, ...(autoscale ? { autoscale } : {}) } };
}
