import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readMachineFacts } from '../../../src/agent/machine/machine-facts.ts';
import { tempDir } from '../../support/temp-dir.ts';

const MEMINFO = 'MemTotal:        2015588 kB\nMemFree:          100 kB\n';
const SWAPS =
  'Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n/swapfile file\t\t524284\t\t0\t\t-2\n/dev/sdb partition 1048572 0 -3\n';

function procRoot(files: Record<string, string>): string {
  const root = join(tempDir(), 'proc');
  mkdirSync(root);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(root, name), text);
  return root;
}

it('reads memory and swap from the kernel', () => {
  const facts = readMachineFacts(undefined, { procRoot: procRoot({ meminfo: MEMINFO, swaps: SWAPS }), env: {} });
  expect(facts).toEqual({ memory_mb: 1_968, swap_mb: 1_536, schedule: undefined, updated_at: undefined });
});

it('counts no swap where the table is empty', () => {
  const root = procRoot({ meminfo: MEMINFO, swaps: 'Filename Type Size Used Priority\n' });
  expect(readMachineFacts(undefined, { procRoot: root, env: {} }).swap_mb).toBe(0);
});

it('prefers the configuration, then the environment', () => {
  const sources = { procRoot: procRoot({ meminfo: MEMINFO, swaps: '' }), env: { FLY_VM_MEMORY_MB: '1024' } };
  expect(readMachineFacts({ memory_mb: 512 }, sources)).toMatchObject({ memory_mb: 512, schedule: null });
  expect(readMachineFacts(undefined, sources).memory_mb).toBe(1_024);
});

it('does not count the memory and swap of a host whose kernel is shared', () => {
  const sources = { procRoot: procRoot({ meminfo: MEMINFO, swaps: SWAPS }), env: {} };
  expect(readMachineFacts({ sharedKernel: true }, sources)).toMatchObject({ memory_mb: undefined, swap_mb: 0 });
});

it('knows nothing where /proc cannot be read, and does not throw', () => {
  const facts = readMachineFacts(undefined, { procRoot: join(tempDir(), 'nowhere'), env: {} });
  expect(facts).toMatchObject({ memory_mb: undefined, swap_mb: undefined });
});
