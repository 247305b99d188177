// What an emulator is started with, but for what differs at each start. A snapshot can be loaded only by an emulator with the same plan.
import { z } from 'zod';

/** The initial ramdisk of the image finds each disk by it. */
const SERIAL = /^[a-z0-9_]{1,20}$/;
/** It becomes part of the kernel's command line. */
const MOUNT_PATH = /^\/[A-Za-z0-9._/-]{1,200}$/;

export const plannedVolume = z.object({
  serial: z.string().regex(SERIAL),
  /** The raw disk, in the directory of the machine. */
  file: z.string(),
  /** Where the machine has it. */
  path: z.string().regex(MOUNT_PATH),
});
export type PlannedVolume = z.infer<typeof plannedVolume>;

export const emulatorPlan = z.object({
  accel: z.enum(['tcg', 'kvm']),
  cpu: z.string(),
  cpus: z.int().positive(),
  memory_mb: z.int().positive(),
  /** The kernel's command line of the image. */
  append: z.string(),
  /** Further words of it, of the machine's configuration. */
  kernel_args: z.array(z.string()),
  volumes: z.array(plannedVolume),
  /** The way out besides that to the platform; absent for none. */
  network: z.enum(['egress']).optional(),
  /** The address from which a machine with a way out reaches the private addresses of its organization; absent for none. */
  private_address: z.ipv6().optional(),
  /** The name servers of a machine with a way out; absent for none. */
  name_servers: z.array(z.ipv4()).optional(),
});
export type EmulatorPlan = z.infer<typeof emulatorPlan>;
