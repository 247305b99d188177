// Old objects that nobody needs any more are collected while the process has nothing to do, and only then; and the pages of those that live
// are full after it.
import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { NODE_FLAGS } from '../../src/core/node-flags.ts';

/**
 * Objects grow old, and all but one of eight are let go, which leaves no page of them empty. Tells of each look whether it collected, and
 * of the heap before and after.
 */
const child = `
import { setTimeout as sleep } from 'node:timers/promises';
import { getHeapSpaceStatistics } from 'node:v8';
import { createOldGarbage } from '${new URL('../../src/agent/old-garbage.ts', import.meta.url).href}';
const work = (ms) => { for (const begun = process.cpuUsage(); process.cpuUsage(begun).user < ms * 1_000; ); };
const heap = () => process.memoryUsage().heapUsed;
const old = () => getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space');
const spare = () => old().physical_space_size - old().space_used_size;
const lookAtRest = async () => { await sleep(1_000); return garbage.look(); };
/** Other threads of the process may have something to do for a while, too. */
const untilCollected = async () => { for (let times = 0; times < 60; times += 1) if (await lookAtRest()) return true; return false; };
const garbage = createOldGarbage();
const first = await untilCollected();
const again = await lookAtRest();
let kept = [];
for (let at = 0; at < 200_000; at += 1) kept.push({ at, next: { at } });
const large = heap();
kept = kept.filter((one, at) => at % 8 === 0);
work(500);
const busy = garbage.look();
const rest = await untilCollected();
const small = heap();
const last = await lookAtRest();
console.log(JSON.stringify({ first, again, busy, rest, last, freed: large - small, spare: spare(), kept: kept.length, hasName: 'gc' in globalThis }));
`;

test('after work, once the process rests, and not again', () => {
  const args = [...NODE_FLAGS, '--input-type=module', '-e', child];
  const { freed, spare, kept, ...looks } = JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }));
  expect(looks).toEqual({ first: true, again: false, busy: false, rest: true, last: false, hasName: false });
  expect(kept).toBe(25_000);
  expect(freed).toBeGreaterThan(8e6);
  expect(spare).toBeLessThan(1e6);
});
