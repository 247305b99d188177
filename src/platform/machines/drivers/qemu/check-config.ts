// What of a configuration a virtual machine can have. Pure.
import type { MachineConfig } from '../../../../contract/machine-config.ts';
import { RemoraError } from '../../../../core/remora-error.ts';
import type { QemuSettings } from './qemu-settings.ts';

/** A word of the kernel's command line: no space and no quote, which would begin another word. */
const KERNEL_WORD = /^[A-Za-z0-9_.,:=/@+-]{1,256}$/;
/** The initial ramdisk of the image reads these, and a machine could name files that are not its own. */
const OWN_WORD = /^(?:remora\.|root=|init=|rdinit=|console=)/;
const NO_EGRESS =
  'machines of this platform reach nothing but the platform; it would have to run with --qemu-network egress';
const IMAGE = /^[a-z0-9][a-z0-9._-]{0,62}$/;

/** Throws `unsupported_by_driver` with every field that asks for what this driver cannot do. */
export function checkQemuConfig(
  { image, rootfs, init, guest, network }: MachineConfig,
  { network: allowed = 'none' }: Pick<QemuSettings, 'network'> = {},
): void {
  const fields = [
    ...(image === undefined || IMAGE.test(image) ? [] : [toProblem('image', 'name an image of remora image list')]),
    ...(rootfs === undefined ? [] : [toProblem('rootfs', 'a virtual machine boots from an image; use image')]),
    ...(init?.exec === undefined ? [] : [toProblem('init.exec', 'the image decides what runs; define a service')]),
    ...(network === 'egress' && allowed === 'none' ? [toProblem('network', NO_EGRESS)] : []),
    ...(guest?.kernel_args ?? [])
      .filter((word) => !KERNEL_WORD.test(word) || OWN_WORD.test(word))
      .map((word) => toProblem('guest.kernel_args', `${JSON.stringify(word)} is not allowed`)),
  ];
  if (fields.length === 0) return;
  const message = fields.map((problem) => `${problem.field}: ${problem.message}`).join('; ');
  throw new RemoraError('unsupported_by_driver', message, { details: { fields } });
}

function toProblem(name: string, message: string) {
  return { field: `body.config.${name}`, message };
}
