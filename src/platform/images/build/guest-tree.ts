// The files of a machine's root disk: Debian, the agent with its units, users, and nothing that no machine needs.
import { chmod, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { runTool } from '../../../linux/processes/run-tool.ts';
import { copyAgent } from './copy-agent.ts';
import { enabledUnits, guestFiles, maskedUnits, strippedPaths } from './guest-files.ts';
import type { Kernel } from './kernel.ts';
import { copyModules } from './modules.ts';
import { WARM_UP_PLACE } from './warm-up.ts';

export interface GuestTreeOptions {
  readonly base: string;
  /** A tree like the one that the package installs as /opt/remora. */
  readonly source: string;
  readonly kernel: Kernel;
  /** A directory whose files are put over those of the machine. */
  readonly add: string | undefined;
}

const AGENT = 'opt/remora';
const WARM_UP = new URL('./guest/warm-up.sh', import.meta.url).pathname;
const UNITS = ['remora.socket', 'remora.service', 'remora-supervisor.socket', 'remora-supervisor.service'];
const MORE_UNITS = ['remora-readonly.socket', 'remora-reseed.path', 'remora-reseed.service'];
const NETWORK_UNITS = ['remora-network.socket', 'remora-network.path', 'remora-network.service'];
/** The day on which a password was changed; each build would have its own. */
const SAME_DAY = '19000';

/** Makes the directory `tree`. */
export async function makeGuestTree(options: GuestTreeOptions, tree: string): Promise<void> {
  await runTool('cp', ['-a', options.base, tree]);
  for (const path of strippedPaths) await rm(join(tree, path), { recursive: true, force: true });
  for (const path of ['run', 'var/log', 'var/cache/apt/archives/partial', 'var/lib/apt/lists/partial']) {
    await mkdir(join(tree, path), { recursive: true });
  }
  await mkdir(join(tree, 'tmp'));
  await chmod(join(tree, 'tmp'), 0o1777);
  await copyAgent(options.source, join(tree, AGENT));
  await runTool('install', ['-m', '0755', WARM_UP, join(tree, WARM_UP_PLACE)]);
  await copyModules(options.kernel, tree);
  for (const [path, content] of Object.entries(guestFiles)) {
    await mkdir(dirname(join(tree, path)), { recursive: true });
    await writeFile(join(tree, path), content);
  }
  await symlink('/run/remora-resolv.conf', join(tree, 'etc/resolv.conf'));
  await makeUsers(tree);
  await setUnits(tree);
  if (options.add !== undefined) await addFiles(options.add, tree);
}

async function makeUsers(tree: string): Promise<void> {
  // What runs in a sprite asks its agent: it suspends its own machine, and uses the connectors that the sprite may use.
  const add = 'groupadd --system --force remora && useradd --create-home --shell /bin/bash --groups remora sprite';
  const addNetwork =
    'useradd --system --user-group --home-dir /var/lib/remora-network --shell /usr/sbin/nologin remora-network';
  await runTool('chroot', [tree, 'sh', '-c', `${add} && ${addNetwork}`]);
  const shadow = join(tree, 'etc/shadow');
  const lines = (await readFile(shadow, 'utf8')).split('\n');
  await writeFile(shadow, lines.map((line) => line.replace(/^([^:]*:[^:]*):\d+/, `$1:${SAME_DAY}`)).join('\n'));
  for (const name of ['passwd-', 'group-', 'shadow-', 'gshadow-', 'subuid-', 'subgid-', '.pwd.lock']) {
    await rm(join(tree, 'etc', name), { force: true });
  }
}

async function setUnits(tree: string): Promise<void> {
  const to = join(tree, 'etc/systemd/system');
  await runTool('install', [
    '-m',
    '0644',
    ...[...UNITS, ...MORE_UNITS, ...NETWORK_UNITS].map((unit) => join(tree, AGENT, 'systemd', unit)),
    to,
  ]);
  const script =
    'systemctl --quiet set-default multi-user.target && systemctl --quiet enable $1 && systemctl --quiet mask $2';
  await runTool('chroot', [tree, 'sh', '-c', script, 'set', enabledUnits.join(' '), maskedUnits.join(' ')]);
}

/** Units with an [Install] section among them are enabled as their links say. */
async function addFiles(from: string, tree: string): Promise<void> {
  await runTool('bash', [
    '-c',
    'set -e -o pipefail; tar -C "$1" -c --owner=0 --group=0 . | tar -C "$2" -x',
    'add',
    from,
    tree,
  ]);
}
