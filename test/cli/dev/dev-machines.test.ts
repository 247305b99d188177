// What `remora dev --driver qemu` says where no virtual machine can be run: one line, before anything is opened.
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { checkHost } from '../../../src/platform/machines/drivers/qemu/check-host.ts';
import { findImage } from '../../../src/platform/machines/drivers/qemu/image.ts';
import { loudly } from '../../support/loudly.ts';
import { runRemora } from '../../support/run-remora.ts';
import { tempDir } from '../../support/temp-dir.ts';

const missing = await checkHost({ accel: 'tcg', hostMemory_mb: 1_024 });

async function runDev(env: Readonly<Record<string, string>>, ...words: string[]) {
  const dir = join(tempDir(), 'dev');
  const { code, stdout, stderr } = await runRemora(['dev', '--driver', 'qemu', '--dir', dir, ...words], { env });
  expect({ code, stdout, isMade: existsSync(dir) }).toEqual({ code: 1, stdout: '', isMade: false });
  expect(stderr.trim().split('\n')).toHaveLength(1);
  return stderr;
}

it('which programs are missing, and how to get them', async () => {
  const said = await runDev({ PATH: '/nonexistent' });
  expect(said).toContain('apt-get install qemu-system-x86 qemu-utils');
});

it.skipIf(loudly(missing !== undefined, `no virtual machine can run here: ${missing}`))(
  'which image is missing, where it was looked for, and how to make one',
  async () => {
    const platformDir = tempDir();
    const env = { REMORA_PLATFORM_DIR: platformDir };
    expect(await runDev(env)).toContain(`remora image build (REMORA_PLATFORM_DIR; looked in ${platformDir}/images)`);
    expect(await runDev(env, '--qemu-image', 'small')).toContain('there is no image small on this host');
  },
);

it.skipIf(loudly(missing !== undefined, 'the acceleration of another processor is not asked for here'))(
  'that another processor runs machines by software only',
  async () => {
    const settings = { hostMemory_mb: 1_024 } as const;
    expect(await checkHost({ ...settings, accel: 'kvm' }, 'arm64')).toBe(
      'images are for x86-64, and this processor is arm64: /dev/kvm cannot run them here; use --qemu-accel tcg',
    );
    expect(await checkHost({ ...settings, accel: 'tcg' }, 'arm64')).toBeUndefined();
  },
);

it('a machine that names an image that is not there is told so, and the operator of the platform what to do', async () => {
  const imagesDir = tempDir();
  mkdirSync(join(imagesDir, 'broken'));
  const find = (named?: string, usual?: string) => findImage(imagesDir, { named, usual });
  await expect(find('other')).rejects.toMatchObject({ code: 'invalid_request' });
  await expect(find('other')).rejects.toThrow('config.image: there is no image other on this host; there are: broken');
  await expect(find(undefined, 'other')).rejects.toMatchObject({ code: 'not_configured' });
  await expect(find('broken')).rejects.toMatchObject({ code: 'not_configured' });
  await expect(find()).rejects.toThrow(/the image broken cannot be used: .*; make it again with: remora image build/);
});
