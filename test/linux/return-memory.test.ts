// Memory that was freed between what is still in use goes back to the kernel.
import { execFileSync } from 'node:child_process';
import { isBuiltin } from 'node:module';
import { expect, test } from 'vitest';
import { openReturnMemory } from '../../src/linux/return-memory.ts';

/** Makes 40 MB of small pieces, keeps one in a hundred, and tells what is resident before and after. */
const child = `
import { openReturnMemory } from '${new URL('../../src/linux/return-memory.ts', import.meta.url).href}';
const giveBack = await openReturnMemory();
let all = Array.from({ length: 20_000 }, () => Buffer.allocUnsafeSlow(2_048).fill(1));
const kept = all.filter((_, index) => index % 100 === 0);
all = undefined;
gc();
const before = process.memoryUsage.rss();
let after = before;
// A thread of its own frees them, a moment later.
for (let times = 0; times < 200 && before - after <= 20e6; times += 1) {
  await new Promise((resolve) => setTimeout(resolve, 50));
  giveBack();
  after = process.memoryUsage.rss();
}
console.log(JSON.stringify([before, after, kept.length]));
`;
const { glibcVersionRuntime } = (process.report.getReport() as { header: { glibcVersionRuntime?: string } }).header;

test.skipIf(!isBuiltin('node:ffi') || glibcVersionRuntime === undefined)('a process gets smaller', () => {
  const args = ['--expose-gc', '--disable-warning=ExperimentalWarning', '--input-type=module', '-e', child];
  const [before, after] = JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' })) as [number, number];
  expect(before - after).toBeGreaterThan(20e6);
});

test('it may be called at any time', async () => {
  const giveBack = await openReturnMemory();
  giveBack();
  giveBack();
});
