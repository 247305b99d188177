// The files of a minimal Debian with systemd, which boots as a container. Made once, because that takes most of a minute.
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { loudly } from './loudly.ts';

export type Suite = 'bookworm' | 'trixie';

/** The install lines bring the rest to the first one; in the other, programs of a checkout run. */
const PACKAGES = {
  bookworm: 'systemd,systemd-sysv,dbus',
  trixie: 'systemd,systemd-sysv,dbus,curl,libstdc++6,libatomic1',
} as const satisfies Record<Suite, string>;
/** Only root may write there: what lies in it is booted as root. */
const CACHE = '/var/cache/remora-test';
const CERTIFICATES = '/etc/ssl/certs';
const TOOLS = ['debootstrap', 'dpkg-deb', 'systemd-nspawn', 'nsenter', 'unshare'];

/** Says for `describe.skipIf` what is missing here for a machine of this kind. */
export function isWithoutDebian(): boolean {
  const missing = TOOLS.filter((tool) => spawnSync('which', [tool]).status !== 0);
  const why = process.getuid?.() === 0 ? missing.join(', ') : 'the user root';
  return loudly(
    why !== '',
    `no Debian is booted here, for want of ${why}: the install lines and the units are not tried`,
  );
}

/** A copy of the tree in a new directory, which is the caller's to remove. It trusts the authorities that this machine trusts. */
export function copyDebianTree(suite: Suite = 'bookworm'): string {
  const dir = mkdtempSync('/var/tmp/remora-vm-');
  const tree = join(dir, 'tree');
  execFileSync('cp', ['-a', makeBase(suite), tree]);
  // The base is made in a private directory; in a root like that, no service of another user starts.
  chmodSync(tree, 0o755);
  if (existsSync(CERTIFICATES)) cpSync(CERTIFICATES, join(tree, CERTIFICATES), { recursive: true, dereference: true });
  cpSync('/etc/resolv.conf', join(tree, 'etc/resolv.conf'), { dereference: true });
  return tree;
}

function makeBase(suite: Suite): string {
  const base = join(CACHE, suite);
  if (existsSync(base)) return base;
  mkdirSync(CACHE, { recursive: true, mode: 0o700 });
  const early = mkdtempSync(`${base}-`);
  try {
    execFileSync('debootstrap', ['--variant=minbase', `--include=${PACKAGES[suite]}`, suite, early], {
      stdio: 'ignore',
    });
    renameSync(early, base);
  } finally {
    rmSync(early, { recursive: true, force: true });
  }
  return base;
}
