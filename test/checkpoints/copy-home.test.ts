// The order of what a checkpoint of a machine that runs asks of the process that copies trees.
import { mkdirSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { CheckpointPlaces } from '../../src/platform/machines/drivers/process/checkpoints/checkpoint-places.ts';
import { copyHome } from '../../src/platform/machines/drivers/process/checkpoints/copy-home.ts';
import type { TreeJob } from '../../src/platform/machines/drivers/process/checkpoints/tree/tree-message.ts';
import type { TreeProcess } from '../../src/platform/machines/drivers/process/checkpoints/tree-process.ts';
import { tempDir } from '../support/temp-dir.ts';

const NOTHING = { files: 0, copied_bytes: 0, left_out: 0 };
/** Longer than files must be left alone for to count as settled. */
const SYNC_MS = 150;

interface Ran {
  readonly job: TreeJob;
  readonly begun_ms: number;
}

/** A copier whose disk is slow. */
function openCopier(): TreeProcess & { readonly ran: Ran[] } {
  const ran: Ran[] = [];
  return {
    ran,
    async run(job) {
      ran.push({ job, begun_ms: Date.now() });
      if (job.type === 'sync') await sleep(SYNC_MS);
      else writeFileSync(job.index, '');
      return NOTHING;
    },
    [Symbol.asyncDispose]: async () => undefined,
  };
}

test('files count as settled by a moment after what was written has gone out, and before all has once more', async () => {
  const places = new CheckpointPlaces(tempDir(), 'home');
  const target = places.unfinished('new');
  mkdirSync(target.dir, { recursive: true });
  const copier = openCopier();
  const begun_ms = Date.now();
  const checkpoint = {
    ...{ signal: new AbortController().signal, onProgress: () => undefined },
    ...{ is_auto: false, takeTurn: <T>(step: () => Promise<T>) => step() },
  };
  await copyHome(target, copier, checkpoint, {
    places,
    isRunning: () => true,
    holdStill: async () => ({ [Symbol.asyncDispose]: async () => undefined }),
    stillLimit_ms: 10_000,
    onStep: () => undefined,
    removeLater: () => undefined,
  });
  expect(copier.ran.map(({ job }) => job.type)).toEqual(['sync', 'sync', 'copy', 'copy']);
  const [, again, early, last] = copier.ran;
  for (const { job } of [early, last] as Ran[]) {
    const settled_ms = job.type === 'copy' ? job.settledBefore_ms : Number.NaN;
    expect(settled_ms).toBeGreaterThan(begun_ms);
    // A program that has mapped a file shows that it writes only once in the time from one such writing to the next.
    expect(settled_ms).toBeLessThan(again?.begun_ms ?? 0);
  }
});
