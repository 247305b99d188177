// What a client asks of the machine of a new sprite, as the configuration of that machine. What this platform cannot do is refused, and
// never left out in silence. Pure.
import type { MachineConfig } from '../../contract/machine-config.ts';
import type { SpriteConfigRequest } from '../../contract/sprites.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { CPUS, REGION } from '../machines/records/machine-defaults.ts';

/** Undefined when nothing is asked for. Throws `unsupported_field` with every field that asks for what is not done. */
export function toMachineConfig(
  asked: SpriteConfigRequest | undefined,
  isExternal: boolean,
): Pick<MachineConfig, 'guest'> | undefined {
  const { ram_mb, cpus = CPUS, region = REGION, storage_gb } = asked ?? {};
  const problems = [
    ...(isExternal && ram_mb !== undefined ? [toProblem('ram_mb', 'the machine is run elsewhere')] : []),
    ...(cpus === CPUS ? [] : [toProblem('cpus', 'a machine of this platform has the processors of its host')]),
    ...(region === REGION ? [] : [toProblem('region', `there is one region, ${REGION}`)]),
    ...(storage_gb === undefined
      ? []
      : [toProblem('storage_gb', 'a machine of this platform has the disk of its host')]),
  ];
  if (problems.length > 0) {
    const message = problems.map((problem) => `${problem.field}: ${problem.message}`).join('; ');
    throw new RemoraError('unsupported_field', `${message}; leave it out`, { details: { fields: problems } });
  }
  return ram_mb === undefined ? undefined : { guest: { memory_mb: ram_mb, cpus } };
}

function toProblem(name: string, message: string) {
  return { field: `body.config.${name}`, message };
}
