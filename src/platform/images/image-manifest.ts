// The description of an image: what machines boot from, and how it is booted.
import { z } from 'zod';

export const IMAGE_FILES = ['kernel', 'initrd', 'base.qcow2'] as const;
export const MANIFEST = 'manifest.json';

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
/** Also the name of its directory. */
export const imageName = z
  .string()
  .regex(/^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$/, 'lower-case letters, digits, dots and dashes, at most 63');

export const imageManifest = z.object({
  name: imageName,
  /** The hash of the sorted list of its files, with mode, owner and content of each; of an imported image: of its three files. */
  digest: sha256,
  created_at: z.iso.datetime(),
  architecture: z.literal('x86_64'),
  kernel_version: z.string().max(256),
  agent_version: z.string().max(64),
  /** The hash of the sorted list of Debian packages with their versions. */
  packages_digest: sha256,
  boot: z.object({
    /** The kernel's command line; the driver adds the network and the volumes. */
    append: z.string().max(1024),
    /** The value of QEMU's `-cpu`. */
    cpu: z.string().max(256),
  }),
  agent: z.literal(true),
  /** The sha256 of each file beside the manifest. */
  files: z.record(z.enum(IMAGE_FILES), sha256),
});
export type ImageManifest = z.infer<typeof imageManifest>;

/**
 * Nothing of the kernel's is looked at by default but what a machine needs: no unpredictable names of interfaces, no cost of
 * mitigations that an emulated processor does not need. On a busy host the check of the timer fails at random, and a kernel that ends is to
 * end its machine.
 */
export const DEFAULT_APPEND =
  'root=/dev/vda rw console=ttyS0 quiet loglevel=3 mitigations=off nokaslr no_timer_check panic=-1 net.ifnames=0 systemd.show_status=0';
