// Whether the kernel of this machine can note who tries to reach what, found out without the code that has it do so.
import { spawnSync } from 'node:child_process';
import { closeSync, readlinkSync } from 'node:fs';
import { openBpf } from '../../../src/linux/kernel/bpf.ts';
import { opcodes, toInstruction } from '../../../src/linux/kernel/bpf-instructions.ts';
import { findMissing } from '../../../src/linux/processes/capabilities.ts';
import { readNetworkCookie } from '../../../src/linux/sockets/network-cookie.ts';
import { loudly } from '../loudly.ts';

const MOUNT = 'mount -t cgroup2 none /sys/fs/cgroup 2> /dev/null';

/** The words before a command that is to see the control groups, which `ip netns exec` hides from it. */
export const WITH_GROUPS: readonly string[] = ['sh', '-c', `${MOUNT}; exec "$@"`, 'sh'];

/** A program for connections that lets all of them pass. */
const PROGRAM = Buffer.concat([toInstruction(opcodes.MOVE, 0, 0, 0, 1), toInstruction(opcodes.EXIT)]);

async function whyNot(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return 'not root';
  if (readlinkSync('/proc/self/ns/pid') !== 'pid:[4026531836]') return 'the kernel has other numbers for processes';
  const missing = findMissing(['CAP_BPF', 'CAP_PERFMON']);
  if (missing.length > 0) return `no ${missing.join(', ')}`;
  if ((await readNetworkCookie()) === undefined) return 'a kernel before 5.14';
  // They may be there already.
  const look = `${MOUNT} || test -e /sys/fs/cgroup/cgroup.procs`;
  if (spawnSync('unshare', ['--mount', 'sh', '-c', look]).status !== 0) return 'no control groups of version 2';
  try {
    closeSync((await openBpf()).load({ type: 18, attach_type: 10, instructions: PROGRAM }));
    return undefined;
  } catch (error) {
    return String(error);
  }
}

/** Says for `test.skipIf` what is missing. */
export async function isWithoutAttempts(): Promise<boolean> {
  const why = await whyNot();
  return loudly(why !== undefined, `${why}: the processes behind refused addresses are not told`);
}
