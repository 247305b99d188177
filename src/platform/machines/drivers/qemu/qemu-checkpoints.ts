// The checkpoints of this driver.
import { RemoraError } from '../../../../core/remora-error.ts';
import type { MachineCheckpoints } from '../machine-checkpoints.ts';
import type { Instances } from './instances.ts';
import type { QemuHost } from './qemu-host.ts';

export function createQemuCheckpoints(_host: QemuHost, _instances: Instances): MachineCheckpoints {
  const refuse = async () => {
    throw new RemoraError('not_implemented', 'virtual machines have no checkpoints yet');
  };
  return { list: async () => [], current: async () => undefined, make: refuse, prepareRestore: refuse, remove: refuse };
}
