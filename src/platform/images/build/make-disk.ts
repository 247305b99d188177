// The root disk of a tree.
import { truncate, writeFile } from 'node:fs/promises';
import { runTool } from '../../../linux/processes/run-tool.ts';

const LIMIT_MS = 10 * 60_000;

/** A raw disk without partitions. Its tables are whole from the start: the machine would write them otherwise. */
export async function makeRawDisk(tree: string, size_mb: number, to: string): Promise<void> {
  await writeFile(to, '');
  await truncate(to, size_mb * 1024 * 1024);
  const options = ['-q', '-F', '-t', 'ext4', '-L', 'root', '-m', '0', '-E', 'assume_storage_prezeroed=1', '-d', tree];
  await runTool('mke2fs', [...options, to], { limit_ms: LIMIT_MS });
}

export async function toQcow2(raw: string, to: string): Promise<void> {
  await runTool('qemu-img', ['convert', '-f', 'raw', '-O', 'qcow2', raw, to], { limit_ms: LIMIT_MS });
}
