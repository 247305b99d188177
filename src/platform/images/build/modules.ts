// Copies modules of a kernel, with those that they need, in the order in which they are loaded.
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { runTool } from '../../../linux/processes/run-tool.ts';
import type { Kernel } from './kernel.ts';

/** Loaded before the root disk is there. `qemu_fw_cfg` brings the credentials. */
export const initialModules = ['virtio_pci', 'virtio_blk', 'virtio_net', 'qemu_fw_cfg'];
/** Loaded in the machine when they are needed. */
export const laterModules = [
  ...['virtio_blk', 'virtio_net', 'virtio_console', 'virtio_rng', 'inet_diag', 'tcp_diag', 'udp_diag', 'unix_diag'],
  ...[
    'af_packet',
    'autofs4',
    'sch_netem',
    'fuse',
    'overlay',
    'tun',
    'nf_tables',
    'nft_ct',
    'nft_reject_inet',
    'nft_chain_nat',
    'nft_fib_inet',
    'nft_redir',
  ],
];

/** The files in the unpacked package, without what is built into the kernel and what it does not have. */
export async function findModules(kernel: Kernel, names: readonly string[]): Promise<string[]> {
  const files = new Set<string>();
  for (const name of names) {
    const args = ['-d', kernel.dir, '-S', kernel.version, '--show-depends', name];
    const said = await runTool('modprobe', args).catch(() => '');
    for (const [, file = ''] of said.toString().matchAll(/^insmod (\S+)/gm)) files.add(file);
  }
  return [...files];
}

/** Uncompressed, because the loader of the initial ramdisk knows no compression. */
export async function copyModule(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true });
  if (from.endsWith('.xz')) await writeFile(to, await runTool('xz', ['-dc', from]));
  else await copyFile(from, to);
}

export function toModuleName(file: string): string {
  return basename(file, '.xz');
}

/** Puts the modules of a running machine into its tree. */
export async function copyModules(kernel: Kernel, tree: string): Promise<void> {
  const own = join('lib/modules', kernel.version);
  const prefix = `${join(kernel.dir, 'lib/modules')}/`;
  for (const file of await findModules(kernel, laterModules)) {
    const inside = file.slice(file.indexOf(prefix) + prefix.length).replace(/\.xz$/, '');
    await copyModule(file, join(tree, 'usr/lib/modules', inside));
  }
  for (const file of ['modules.order', 'modules.builtin', 'modules.builtin.modinfo']) {
    await copyFile(join(kernel.dir, own, file), join(tree, 'usr', own, file));
  }
  await runTool('depmod', ['-b', join(tree, 'usr'), kernel.version]);
}
