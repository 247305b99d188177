// A Debian with what an agent needs, made once for each suite and list of packages.
import { existsSync } from 'node:fs';
import { chmod, cp, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runTool } from '../../../linux/processes/run-tool.ts';
import { sumText } from '../sum-file.ts';
import type { BuildStep } from './build-step.ts';

const MIRROR = 'http://deb.debian.org';
/** `libstdc++6` and `libatomic1` are Node's; `curl` asks the agent. */
const packages = [
  ...['systemd', 'systemd-sysv', 'dbus', 'iproute2', 'procps', 'kmod', 'util-linux', 'libstdc++6', 'libatomic1'],
  ...['ca-certificates', 'curl', 'perl-base', 'nftables'],
];
const LIMIT_MS = 30 * 60_000;

export interface BaseOptions {
  readonly cacheDir: string;
  readonly suite: string;
  readonly packages: readonly string[];
  /** Not the one that was made before. */
  readonly fresh: boolean;
  readonly step: BuildStep;
}

/** Resolves with its directory, which is not to be changed. */
export async function makeBaseTree(options: BaseOptions): Promise<string> {
  const { cacheDir, suite, fresh, step } = options;
  const all = [...packages, ...options.packages].sort();
  const tree = join(cacheDir, `base-${suite}-${sumText(all.join(' ')).slice(0, 16)}`);
  if (fresh) await rm(tree, { recursive: true, force: true });
  if (existsSync(tree)) {
    step(`Debian ${suite}: from ${cacheDir} (--fresh makes it again)`);
    return tree;
  }
  step(`Debian ${suite}: ${all.length} packages and what they need, by debootstrap`);
  const early = `${tree}~${process.pid}`;
  const limit = { limit_ms: LIMIT_MS, env: { DEBIAN_FRONTEND: 'noninteractive' } };
  try {
    const include = `--include=${all.join(',')}`;
    await runTool('debootstrap', ['--variant=minbase', include, suite, early, `${MIRROR}/debian`], limit);
    step('updates of its packages');
    await writeFile(join(early, 'etc/apt/sources.list'), toSources(suite));
    // No service is started while packages are updated.
    const policy = join(early, 'usr/sbin/policy-rc.d');
    await writeFile(policy, '#!/bin/sh\nexit 101\n');
    await chmod(policy, 0o755);
    await cp('/etc/resolv.conf', join(early, 'etc/resolv.conf'), { dereference: true });
    await runTool('chroot', [early, 'sh', '-c', 'apt-get update && apt-get --yes upgrade'], limit);
    await rm(policy);
    await rename(early, tree);
  } finally {
    await rm(early, { recursive: true, force: true });
  }
  return tree;
}

function toSources(suite: string): string {
  const main = [`deb ${MIRROR}/debian ${suite} main`, `deb ${MIRROR}/debian ${suite}-updates main`];
  return `${[...main, `deb ${MIRROR}/debian-security ${suite}-security main`].join('\n')}\n`;
}
