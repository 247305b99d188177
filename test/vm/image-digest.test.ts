// Images are made again the same: of two Debians that are installed apart, with the same agent and kernel, the files are equal.
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeBaseTree } from '../../src/platform/images/build/base-tree.ts';
import { makeGuestTree } from '../../src/platform/images/build/guest-tree.ts';
import { fetchKernel } from '../../src/platform/images/build/kernel.ts';
import { digestTree } from '../../src/platform/images/build/tree-digest.ts';
import { makeInstalledTree } from '../support/installed-tree.ts';
import { loudly } from '../support/loudly.ts';
import { isWithoutMachines } from '../support/vm/vm-image.ts';

const CACHE = process.env.REMORA_IMAGE_CACHE ?? '/var/cache/remora-images';
const suite = 'bookworm';
const step = (text: string) => process.stderr.write(`image digest: ${text}\n`);

const isWithoutMirror = loudly(
  !(await canConnect('deb.debian.org', 80)),
  'deb.debian.org is not reached: no second Debian is made',
);

describe.skipIf(isWithoutMachines() || isWithoutMirror)('the files of an image', () => {
  let dir: string;
  beforeAll(() => {
    // Debian's tools want to make devices there.
    dir = mkdtempSync('/var/tmp/remora-digest-');
  });
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  test('are the same in two builds, also when the packages are installed again', async () => {
    const kept = await makeBaseTree({ cacheDir: CACHE, suite, packages: [], fresh: false, step });
    const kernel = await fetchKernel({ cacheDir: CACHE, base: kept, series: '6.12', fresh: false, step });
    const digests: string[] = [];
    for (const base of [kept, await makeBaseTree({ cacheDir: dir, suite, packages: [], fresh: true, step })]) {
      const tree = join(dir, 'tree');
      using agent = await makeInstalledTree();
      await makeGuestTree({ base, kernel, source: agent.path, add: undefined }, tree);
      digests.push(await digestTree(tree));
      rmSync(tree, { recursive: true });
    }
    expect(digests[0]).toMatch(/^[0-9a-f]{64}$/);
    expect(digests[1]).toBe(digests[0]);
  });
});

function canConnect(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: 5_000 });
    const settle = (isOpen: boolean) => {
      socket.destroy();
      resolve(isOpen);
    };
    socket.once('connect', () => settle(true));
    socket.once('error', () => settle(false));
    socket.once('timeout', () => settle(false));
  });
}
