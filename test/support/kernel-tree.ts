// A small /proc and /sys in a directory, whose files a test rewrites as a kernel would.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { tempDir } from './temp-dir.ts';

export interface KernelTree {
  readonly procRoot: string;
  readonly sysRoot: string;
  /** Paths begin with `proc/` or `sys/`. A file keeps its inode when it is written again. */
  write(path: string, text: string): void;
  remove(path: string): void;
}

/** A virtual machine with one generation line, `sys/kernel/irq/24`. */
export function createKernelTree(): KernelTree {
  const root = tempDir();
  const tree: KernelTree = {
    procRoot: join(root, 'proc'),
    sysRoot: join(root, 'sys'),
    write(path, text) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    },
    remove(path) {
      rmSync(join(root, path), { recursive: true });
    },
  };
  tree.write('proc/cpuinfo', 'flags\t\t: fpu hypervisor\n');
  tree.write('sys/kernel/irq/24/actions', 'ACPI:Ged\n');
  tree.write('sys/kernel/irq/24/per_cpu_count', '1,0\n');
  return tree;
}
