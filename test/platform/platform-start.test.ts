// What keeps a platform from starting, and what it leaves alone then: another platform, a taken port, a damaged database.
import { truncateSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openTestPlatform } from '../support/open-platform.ts';
import { tempDir } from '../support/temp-dir.ts';

describe('the start of a platform', () => {
  test('is refused while another one uses the directory, which serves on', async () => {
    const first = await openTestPlatform();
    await expect(openTestPlatform({ dir: first.dir })).rejects.toMatchObject({ code: 'conflict' });
    expect((await first.call({ path: '/v1/sprites' })).status).toBe(200);
  });

  test('on a port that is taken is refused, and the directory is free again', async () => {
    const first = await openTestPlatform();
    const dir = tempDir();
    const port = Number(new URL(first.url).port);
    const opening = openTestPlatform({ dir, listen: { host: '127.0.0.1', port } });
    await expect(opening).rejects.toMatchObject({ code: 'address_in_use' });
    expect((await (await openTestPlatform({ dir })).call({ path: '/v1/sprites' })).status).toBe(200);
  });

  test('on a damaged database is refused, and the file is left alone', async () => {
    const { dir, ...first } = await openTestPlatform();
    for (let index = 0; index < 200; index += 1) await first.admin.createToken({ organization: 'acme' });
    await first[Symbol.asyncDispose]();
    truncateSync(join(dir, 'platform.db'), 8_192);
    await expect(openTestPlatform({ dir })).rejects.toThrow();
    await expect(openTestPlatform({ dir })).rejects.toThrow(/malformed|damaged|disk image/i);
  });

  test('is refused for a catalogue entry that cannot be used, with every problem named', async () => {
    const entry = {
      provider: 'sample',
      display_name: 'Sample',
      description: 'x',
      injection: { in: 'header', name: 'authorization', prefix: 'Bearer ' },
      address: { type: 'fixed', url: 'http://127.0.0.1:1' },
      sample_path: 'x',
    } as const;
    const opening = openTestPlatform({ catalogue: [entry] });
    await expect(opening).rejects.toMatchObject({ code: 'not_configured' });
    await expect(opening).rejects.toThrow(/sample: sample_path.*address\.url: the address must be https/s);
  });
});
