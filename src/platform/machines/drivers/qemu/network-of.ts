// Which way out a machine has: what its configuration asks for, as far as the platform allows it. Pure.
import type { MachineConfig } from '../../../../contract/machine-config.ts';
import type { QemuSettings } from './qemu-settings.ts';

export type MachineNetwork = NonNullable<QemuSettings['network']>;

/** The configuration was checked: a machine asks for no more than its platform gives. */
export function networkOf({ network }: Pick<QemuSettings, 'network'>, config: MachineConfig): MachineNetwork {
  return network === 'egress' ? (config.network ?? network) : 'none';
}
