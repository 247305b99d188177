// Virtual machines that do not come up, as callers of a platform see them: an emulator that ends at once, a kernel without a system, and a
// system that never answers.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { atEnd, openOnce } from '../support/at-end.ts';
import { openTestPlatform, type TestPlatform } from '../support/open-platform.ts';
import { makeSmallImage } from '../support/vm/small-image.ts';
import { isWithoutMachines } from '../support/vm/vm-image.ts';

const DEADLINE_MS = 20_000;
const HANG = `#!/bin/busybox sh
/bin/busybox mount -t devtmpfs dev /dev
echo 'the system hangs here'
while :; do /bin/busybox sleep 1000; done
`;

/** An image that differs from the small one in one file. */
function makeImage(dir: string, name: string, file: 'kernel' | 'initrd', content: Buffer): void {
  const images = join(dir, 'images');
  cpSync(join(images, 'small'), join(images, name), { recursive: true });
  writeFileSync(join(images, name, file), content);
  const manifest = JSON.parse(readFileSync(join(images, name, 'manifest.json'), 'utf8'));
  writeFileSync(join(images, name, 'manifest.json'), JSON.stringify({ ...manifest, name }));
}

function makeRamdisk(dir: string, init: string | undefined): Buffer {
  const tree = join(dir, 'ramdisk');
  rmSync(tree, { recursive: true, force: true });
  mkdirSync(join(tree, 'dev'), { recursive: true });
  mkdirSync(join(tree, 'bin'));
  execFileSync('cp', ['/bin/busybox', join(tree, 'bin/busybox')]);
  if (init !== undefined) writeFileSync(join(tree, 'init'), init, { mode: 0o755 });
  return execFileSync('sh', ['-c', 'find . | cpio -o -H newc --quiet'], { cwd: tree, maxBuffer: 64 * 1024 * 1024 });
}

async function open(): Promise<TestPlatform> {
  const dir = mkdtempSync('/var/tmp/remora-qemu-');
  atEnd(() => rmSync(dir, { recursive: true, force: true }));
  await makeSmallImage(dir);
  makeImage(dir, 'zeros', 'kernel', Buffer.alloc(1024 * 1024));
  makeImage(dir, 'no-system', 'initrd', makeRamdisk(dir, undefined));
  makeImage(dir, 'hangs', 'initrd', makeRamdisk(dir, HANG));
  const qemu = { accel: 'tcg', hostMemory_mb: 512 } as const;
  return await openTestPlatform({ dir, qemu, startDeadline_ms: DEADLINE_MS });
}

describe.skipIf(isWithoutMachines())('a virtual machine that does not come up', () => {
  const shared = openOnce(open, 60_000);

  test.each([
    ['zeros', /emulator of the machine ended at once; its last words: .*kernel/, 'stopped'],
    ['no-system', /the machine ended before its agent had reported; .*Kernel Offset/, 'stopped'],
    ['hangs', /did not report within 20 s, and the machine was stopped; .*the system hangs here/, 'stopped'],
  ])('its image %s: the answer and the event have the last lines', async (image, message, state) => {
    const platform = shared();
    const config = { image, guest: { memory_mb: 96 }, restart: { policy: 'no' } };
    const path = '/v1/apps/acme/machines';
    const made = await platform.call({ method: 'POST', path, body: { name: image, skip_launch: true, config } });
    expect(made.status).toBe(200);
    const { id } = made.json;
    const started = await platform.call({ method: 'POST', path: `${path}/${id}/start` });
    expect([started.status, started.json.error]).toEqual([504, 'start_failed']);
    expect(started.json.message).toMatch(message);
    // A stack of the kernel is longer than the message.
    if (image === 'no-system') expect(started.json.details.log.join('\n')).toContain('panic');
    expect((await platform.call({ path: `${path}/${id}` })).json.state).toBe(state);
    const { json: events } = await platform.call({ path: `${path}/${id}/events` });
    const exit = events.find(({ type }: { type: string }) => type === 'exit');
    expect(exit.message).toMatch(/^the last lines of its log: ./);
    // Nothing of it is left, and its memory is free again.
    expect((await platform.call({ method: 'DELETE', path: `${path}/${id}` })).status).toBe(200);
  });
});
