// How long a machine may take until it can be used, by what runs it.
import type { PlatformOptions } from './platform-options.ts';

const START_MS = 30_000;
/** A virtual machine boots a kernel and a system first. */
const VIRTUAL_START_MS = 60_000;
/** An emulated one needs half a minute on a host that has nothing else to do, and five times that beside the work of others. */
const EMULATED_START_MS = 300_000;

const CONNECT_MS = 15_000;
/** A machine that has started has its programs running and connects in a part of the time that it had for that. */
const CONNECT_SHARE = 0.5;

export type DeadlineOptions = Pick<PlatformOptions, 'qemu' | 'startDeadline_ms'>;

/** How long a start may take until the first report of the agent, in milliseconds. */
export function toStartDeadline({ qemu, startDeadline_ms }: DeadlineOptions): number {
  if (startDeadline_ms !== undefined) return startDeadline_ms;
  if (qemu === undefined) return START_MS;
  return qemu.accel === 'kvm' ? VIRTUAL_START_MS : EMULATED_START_MS;
}

/** How long the channel of the agent of a machine that runs, or has just been woken, may take, in milliseconds. */
export function toConnectDeadline(options: DeadlineOptions): number {
  return Math.max(CONNECT_MS, toStartDeadline(options) * CONNECT_SHARE);
}
