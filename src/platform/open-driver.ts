// Opens what runs the machines of this host. The driver of virtual machines is loaded only where it is chosen.
import { dirname, join } from 'node:path';
import { RemoraError } from '../core/remora-error.ts';
import type { Secret } from '../core/secret.ts';
import type { MachineDriver } from './machines/drivers/machine-driver.ts';
import { createProcessDriver } from './machines/drivers/process/process-driver.ts';
import type { PlatformAddresses } from './platform-addresses.ts';
import type { PlatformOptions } from './platform-options.ts';

export interface OpenDriverDeps {
  readonly options: PlatformOptions;
  /** Has a directory for each machine. */
  readonly machinesDir: string;
  readonly addresses: PlatformAddresses;
  readonly createToken: (machine_id: string) => Promise<Secret>;
}

/** Throws `not_configured` with what is missing on this host. */
export async function openDriver({
  options,
  machinesDir,
  addresses,
  createToken,
}: OpenDriverDeps): Promise<MachineDriver> {
  if (options.driver !== undefined) return options.driver(createToken);
  const dir = dirname(machinesDir);
  const common = {
    dir: machinesDir,
    volumesDir: join(dir, 'volumes'),
    machinesUrl: addresses.ownUrl,
    nodeUrl: options.nodeUrl,
    createToken,
    endMachines: options.endMachines ?? false,
    log: options.log,
  };
  const { qemu } = options;
  if (qemu === undefined) {
    return createProcessDriver({ ...common, command: options.agentCommand });
  }
  const { checkHost } = await import('./machines/drivers/qemu/check-host.ts');
  const missing = await checkHost(qemu);
  if (missing !== undefined) throw new RemoraError('not_configured', missing);
  const { createQemuDriver } = await import('./machines/drivers/qemu/qemu-driver.ts');
  return createQemuDriver({ imagesDir: join(dir, 'images'), ...common, ...qemu });
}
