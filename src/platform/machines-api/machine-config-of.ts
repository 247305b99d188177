// The configuration of a machine, from what a client sends for it. What this platform cannot do is refused, and never left out in silence.

import type { CreateMachineRequest } from '../../contract/machine-changes.ts';
import type { MachineConfig } from '../../contract/machine-config.ts';
import { refuseField } from '../../core/refuse-field.ts';
import type { MachineService } from '../machines/moves/machine-service.ts';
import { CPUS, type MachineDefaults, REGION } from '../machines/records/machine-defaults.ts';

/** Throws `invalid_request` and `unsupported_by_driver`, naming the fields. */
export function toMachineConfig(
  { region = REGION, config }: Pick<CreateMachineRequest, 'region' | 'config'>,
  { driver, memory_mb }: MachineDefaults,
  service: Pick<MachineService, 'checkConfig'>,
): MachineConfig {
  if (region !== REGION) throw refuseField('body.region', `there is one region, ${REGION}; leave it out`);
  if (config.driver !== undefined && config.driver !== driver) {
    throw refuseField('body.config.driver', `${driver} runs the machines of this platform; leave it out`);
  }
  const whole = { ...config, driver, guest: { memory_mb, cpus: CPUS, ...config.guest } };
  service.checkConfig(whole);
  return whole;
}
