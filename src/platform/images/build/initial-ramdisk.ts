// The initial ramdisk: a small shell, the modules for disk and network, and the program that mounts the root disk.
import { copyFile, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runTool } from '../../../linux/processes/run-tool.ts';
import type { Kernel } from './kernel.ts';
import { copyModule, findModules, initialModules, toModuleName } from './modules.ts';

const INIT = new URL('./guest/init.sh', import.meta.url).pathname;
/** Debian's package busybox-static has it. */
const BUSYBOX = '/bin/busybox';

/** `dir`: where it works; nothing is left there. */
export async function makeInitialRamdisk(kernel: Kernel, dir: string, to: string): Promise<void> {
  for (const name of ['bin', 'proc', 'sys', 'dev', 'run', 'root', 'modules']) {
    await mkdir(join(dir, name), { recursive: true });
  }
  await copyFile(BUSYBOX, join(dir, 'bin/busybox'));
  const files = await findModules(kernel, initialModules);
  // They are loaded in the order of their names.
  for (const [index, file] of files.entries()) {
    await copyModule(file, join(dir, 'modules', `${String(index).padStart(3, '0')}-${toModuleName(file)}`));
  }
  await runTool('install', ['-m', '0755', INIT, join(dir, 'init')]);
  const names = (await readdir(dir, { recursive: true })).sort();
  const archive = await runTool('cpio', ['-o', '-H', 'newc', '--quiet', '--reproducible', '-R', '0:0'], {
    cwd: dir,
    input: `${names.join('\n')}\n`,
  });
  await writeFile(`${to}.cpio`, archive);
  await writeFile(to, await runTool('gzip', ['-1', '-n', '-c', `${to}.cpio`]));
  await rm(`${to}.cpio`);
  await rm(dir, { recursive: true });
}
