// The systemd of this machine, booted in a container: its programs and libraries are those of this machine, its files and its network
// are its own, and /opt/remora is what the package installs there, of the sources of this checkout. It boots in a second, and fetches nothing.
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { LAUNCHER } from '../../src/cli/package/started-files.ts';
import { bootOwnTree, type OwnContainer } from './boot-container.ts';
import { makeBuiltProgram } from './built-program.ts';
import { loudly } from './loudly.ts';

export type SystemdContainer = OwnContainer;

const TOOLS = ['systemd-nspawn', 'systemd-sysusers', 'nsenter', 'unshare', 'dbus-daemon', 'curl'];
const LINKS = ['bin', 'sbin', 'lib', 'lib64'];
const DIRECTORIES = [
  'etc/systemd/system',
  'var/lib',
  'var/tmp',
  'run',
  'tmp',
  'root',
  'opt',
  'proc',
  'sys',
  'dev',
  'home',
];
const COPIED = ['os-release', 'ld.so.cache', 'nsswitch.conf', 'dbus-1/system.conf'];
/** What this machine has installed, and what a container has no use for. */
const MASKED = [
  ...['getty.target', 'console-getty.service', 'systemd-logind.service', 'systemd-user-sessions.service'],
  ...['systemd-networkd.service', 'systemd-resolved.service', 'systemd-timesyncd.service', 'systemd-firstboot.service'],
  ...['systemd-update-utmp.service', 'systemd-update-utmp-runlevel.service', 'timers.target', 'systemd-sysctl.service'],
];
const top = new URL('../../', import.meta.url).pathname;

/** Says for `describe.skipIf` what is missing here for a container of this kind. */
export function isWithoutSystemd(): boolean {
  const missing = TOOLS.filter((tool) => spawnSync('which', [tool]).status !== 0);
  if (!existsSync('/usr/lib/systemd/systemd')) missing.push('systemd below /usr');
  const why = process.getuid?.() === 0 ? missing.join(', ') : 'the user root';
  return loudly(why !== '', `no systemd is booted here, for want of ${why}: the units are not run`);
}

/** `units`: names of files in `systemd/`, which are installed and not started. `prepare` is called with the files before the boot. */
export async function openSystemdContainer(
  units: readonly string[],
  prepare?: (tree: string) => void,
): Promise<SystemdContainer> {
  const tree = join(mkdtempSync('/var/tmp/remora-systemd-'), 'tree');
  makeTree(tree, units);
  prepare?.(tree);
  const env = { HOME: '/root', PATH: '/opt/remora/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' };
  const words = ['--bind-ro=/usr', ...(await bindProgram()), '--private-network', '--timezone=off'];
  return await bootOwnTree({ tree, words, env });
}

/** Words for systemd-nspawn, which put the built program and what it needs where the package installs them. */
export async function bindProgram(): Promise<string[]> {
  const program = dirname(process.env.REMORA_TEST_PROGRAM ?? (await makeBuiltProgram()));
  const places = [
    [program, 'dist'],
    [join(program, LAUNCHER), `bin/${LAUNCHER}`],
    ...['node_modules', 'package.json', 'systemd'].map((name) => [join(top, name), name] as const),
  ] as const;
  return places.map(([from, place]) => `--bind-ro=${from}:/opt/remora/${place}`);
}

function makeTree(tree: string, units: readonly string[]): void {
  for (const path of [...DIRECTORIES, 'etc/dbus-1', 'etc/remora', 'etc/credstore', 'usr']) {
    mkdirSync(join(tree, path), { recursive: true });
  }
  for (const name of LINKS) if (existsSync(join('/usr', name))) symlinkSync(`usr/${name}`, join(tree, name));
  for (const name of COPIED)
    if (existsSync(join('/etc', name))) copyFileSync(join('/etc', name), join(tree, 'etc', name));
  const system = join(tree, 'etc/systemd/system');
  for (const name of MASKED) symlinkSync('/dev/null', join(system, name));
  symlinkSync('/usr/lib/systemd/system/multi-user.target', join(system, 'default.target'));
  for (const name of units) copyFileSync(join(top, 'systemd', name), join(system, name));
  writeFileSync(join(tree, 'etc/passwd'), USERS);
  writeFileSync(join(tree, 'etc/group'), GROUPS);
  const input = readFileSync(join(top, 'systemd/remora.sysusers'));
  execFileSync('systemd-sysusers', [`--root=${tree}`, '-'], { input, stdio: 'pipe' });
  // The id keeps it from being taken for a machine that boots for the first time, which would enable what is installed here.
  writeFileSync(join(tree, 'etc/machine-id'), `${MACHINE_ID}\n`);
}

const MACHINE_ID = '0123456789abcdef0123456789abcdef';
const USERS = [
  'root:x:0:0:root:/root:/bin/bash',
  'messagebus:x:100:102::/nonexistent:/usr/sbin/nologin',
  'sprite:x:1000:1000::/home/sprite:/bin/bash',
  'nobody:x:65534:65534::/nonexistent:/usr/sbin/nologin',
  '',
].join('\n');
const GROUPS = [
  'root:x:0:',
  'tty:x:5:',
  'messagebus:x:102:',
  'systemd-journal:x:999:',
  'remora:x:991:',
  'sprite:x:1000:',
  'nogroup:x:65534:',
  '',
].join('\n');
