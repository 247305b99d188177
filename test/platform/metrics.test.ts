// The figures of the platform: there while the database is not, and only for those whom the operator lets in.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Secret } from '../../src/core/secret.ts';
import { createPlatformMetrics } from '../../src/platform/observability/platform-metrics.ts';
import { openSqliteStorage } from '../../src/platform/storage/sqlite-storage.ts';
import { StorageFailure } from '../../src/platform/storage/storage.ts';
import { callPlatform, openTestPlatform, TEST_KEY } from '../support/open-platform.ts';
import { isWithoutPostgres, openPostgresServer } from '../support/postgres-server.ts';
import { runRemora } from '../support/run-remora.ts';
import { tempDir } from '../support/temp-dir.ts';

const token = new Secret('token-of-the-scraper');
const any = { host: '0.0.0.0', port: 0 };

describe('who reads the figures', () => {
  test('on a listener that other machines reach needs the token, and without one is refused with the way out', async () => {
    const bare = await openTestPlatform({ listen: any });
    const refused = await bare.call({ path: '/metrics' });
    expect([refused.status, refused.json.error]).toEqual([403, 'forbidden']);
    expect(refused.json.message).toMatch(/--metrics-token-file.*--metrics-listen/);
    expect((await bare.call({ path: '/v1/health', token: undefined })).status).toBe(200);
    const guarded = await openTestPlatform({ listen: any, metrics: { token } });
    for (const wrong of [undefined, guarded.token, new Secret('token-of-the-scraperx')]) {
      expect((await guarded.call({ path: '/metrics', token: wrong })).status).toBe(401);
    }
    expect((await guarded.call({ path: '/metrics', token })).text).toContain('remora_database_up 1');
  });

  test('on a listener of their own finds them and nothing else there, and none on the main one', async () => {
    const platform = await openTestPlatform({ metrics: { listen: { host: '127.0.0.1', port: 0 }, token } });
    const port = platform.log.find(({ message }) => message === 'metrics')?.port;
    const own = (path: string, by?: Secret) => callPlatform(`http://127.0.0.1:${port}`, { path, token: by });
    expect((await own('/metrics', token)).text).toContain('remora_platform_info{version="0.0.0"} 1');
    expect((await own('/metrics')).status).toBe(401);
    expect((await own('/v1/health')).status).toBe(200);
    expect((await own('/v1/sprites', platform.token)).status).toBe(404);
    expect((await platform.call({ path: '/metrics', token })).status).toBe(404);
  });

  test('at the command line gives a place and a file for its owner alone', async () => {
    const dir = tempDir();
    const [key, file] = [join(dir, 'key'), join(dir, 'scraper')];
    writeFileSync(key, TEST_KEY.reveal(), { mode: 0o600 });
    const start = (...words: string[]) =>
      runRemora(['platform', '--dir', join(dir, 'p'), '--port', '0', '--key-file', key, ...words]);
    expect(await start('--metrics-listen', 'localhost')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('HOST:PORT'),
    });
    writeFileSync(file, 'short', { mode: 0o600 });
    expect(await start('--metrics-token-file', file)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('16 to 512'),
    });
  });
});

const WITHOUT_DATABASE = /remora_database_up 0/;

describe('while the database is gone', () => {
  test('the figures that do not come from it are there, and the others are not', async () => {
    const storage = openSqliteStorage(tempDir());
    onTestFinished(() => storage[Symbol.asyncDispose]());
    let isGone = false;
    const failing = {
      all: <T>(text: string) =>
        isGone ? Promise.reject<readonly T[]>(new StorageFailure('gone')) : storage.all<T>(text),
      size_bytes: () => storage.size_bytes(),
    };
    const metrics = createPlatformMetrics(failing, '1.2.3');
    metrics.countCall('listSprites', 200, 0.1);
    expect(await metrics.toText()).toMatch(/remora_database_up 1[\s\S]*remora_platform_records\{kind="sprites"\} 0/);
    isGone = true;
    const text = await metrics.toText();
    expect(text).toMatch(WITHOUT_DATABASE);
    expect(text).toContain('remora_platform_calls_total{operation="listSprites",status="200"} 1');
    expect(text).not.toMatch(/^remora_platform_(records|database_bytes)[ {]/m);
    isGone = false;
    expect(await metrics.toText()).toMatch(/remora_platform_database_bytes \d/);
  });

  test.skipIf(isWithoutPostgres())('a platform on PostgreSQL answers with them', async () => {
    const server = await openPostgresServer();
    onTestFinished(() => server[Symbol.asyncDispose]());
    const platform = await openTestPlatform({ database: await server.createDatabase() });
    expect((await platform.call({ path: '/metrics' })).text).toContain('remora_database_up 1');
    await server.stop();
    const { status, text } = await platform.call({ path: '/metrics', token: undefined });
    expect([status, WITHOUT_DATABASE.test(text)]).toEqual([200, true]);
    await server.start();
  });
});
