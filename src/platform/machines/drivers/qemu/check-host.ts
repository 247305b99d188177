// What this host lacks to run virtual machines.
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { checkEgress } from './egress/check-egress.ts';
import type { QemuSettings } from './qemu-settings.ts';
import { runTool } from './run-tool.ts';

const TOOLS: Readonly<Record<string, string>> = {
  'qemu-system-x86_64': 'qemu-system-x86',
  'qemu-img': 'qemu-utils',
  ip: 'iproute2',
  mke2fs: 'e2fsprogs',
  unshare: 'util-linux',
  nsenter: 'util-linux',
  setpriv: 'util-linux',
  prlimit: 'util-linux',
  fallocate: 'util-linux',
};
const ROOT = 0;

/** A sentence with what to do; undefined when nothing is missing. `cpu`: what Node calls the processor of this host. */
export async function checkHost(
  { accel, network }: QemuSettings,
  cpu: string = process.arch,
): Promise<string | undefined> {
  const packages = new Set(
    Object.keys(TOOLS)
      .filter((tool) => !isOnPath(tool))
      .map((tool) => TOOLS[tool]),
  );
  if (packages.size > 0)
    return `virtual machines need ${[...packages].join(', ')}: apt-get install ${[...packages].join(' ')}`;
  if (accel === 'kvm' && cpu !== 'x64')
    return `images are for x86-64, and this processor is ${cpu}: /dev/kvm cannot run them here; use --qemu-accel tcg`;
  if (accel === 'kvm' && !mayOpen('/dev/kvm')) {
    return 'this process may not open /dev/kvm; give it the right, or use --qemu-accel tcg';
  }
  const withoutEgress = network === 'egress' ? checkEgress(isOnPath) : undefined;
  if (withoutEgress !== undefined) return withoutEgress;
  const isRoot = process.getuid?.() === ROOT;
  if (isRoot) return undefined;
  return await runTool(
    'unshare',
    ['--user', '--map-root-user', '--net', '--', 'ip', 'link', 'set', 'lo', 'up'],
    '/',
  ).then(
    () => undefined,
    () => 'this user may not make network namespaces, in which machines are kept apart; run the platform as root',
  );
}

function isOnPath(tool: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((dir) => dir !== '' && mayRun(join(dir, tool)));
}

function mayRun(path: string): boolean {
  return may(path, constants.X_OK);
}

function mayOpen(path: string): boolean {
  return may(path, constants.R_OK | constants.W_OK);
}

function may(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return true;
  } catch {
    return false;
  }
}
