// The tour of extensions with a `remora dev` of its own: a store is bought, used by a program of the sprite, looked at in a browser, and
// given back.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { atEnd, openOnce } from '../../support/at-end.ts';
import { isWithoutChromium, openChromiumOnce } from '../../support/chromium.ts';
import { startDev } from '../../support/dev-process.ts';
import { paste, pasteJson } from '../../support/paste.ts';
import { runRemora } from '../../support/run-remora.ts';

describe('a store of the sample provider', () => {
  const opened = openOnce(async () => {
    const dir = mkdtempSync(join(tmpdir(), 'rem-tour-'));
    const dev = await startDev({ dir });
    atEnd(async () => {
      await dev[Symbol.asyncDispose]();
      rmSync(dir, { recursive: true, force: true });
    });
    return { dev, dir };
  });
  const openContext = openChromiumOnce();

  const remora = (...words: string[]) =>
    runRemora(words, { env: { REMORA_SOCKET: opened().dev.record.socket, REMORA_URL: undefined } });
  const extension = (...words: string[]) =>
    remora('platform', 'extension', ...words, '--dir', join(opened().dir, 'platform'));
  const inSprite = (script: string) => remora('exec', '--', 'sh', '-c', script);

  it('is bought with one command, which shows names and no values', async () => {
    const bought = await extension('create', 'sample', 'my-kv', '--app', 'dev');
    expect(bought).toMatchObject({ code: 0 });
    expect(bought.stdout).toMatch(/^state +ready$/m);
    expect(bought.stdout).toMatch(/^variables +SAMPLE_KV_TOKEN SAMPLE_KV_URL$/m);
    expect(bought.stdout + bought.stderr).not.toMatch(/kv_[\w-]{32}/);
  });

  it('has its secret in a program of the sprite, which writes and reads with it', async () => {
    const url = await inSprite('printenv SAMPLE_KV_URL');
    expect(url.stdout).toMatch(/^http:\/\/kv:kv_[\w-]{32}@127\.0\.0\.1:\d+\/kv\/kv_\w{16}\n$/);
    const said = await inSprite(
      'echo hello | curl -sS -T - "$SAMPLE_KV_URL/greeting" && curl -sS "$SAMPLE_KV_URL/greeting"',
    );
    expect(said.stdout).toBe('hello\n');
    expect(opened().dev.stdout() + opened().dev.stderr()).not.toContain(url.stdout.trim());
  });

  it.skipIf(isWithoutChromium())('is seen in a browser, by who signs on at the platform', async () => {
    const { user } = opened().dev.record;
    const { stdout: address } = await extension('open', 'my-kv');
    const page = await (await openContext()).newPage();
    await page.goto(address.trim());
    await page.getByLabel('Email address').fill(user.email);
    await page.getByLabel('Password').fill(user.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.waitForURL('**/stores/kv_*');
    expect(await page.getByRole('heading').textContent()).toBe('my-kv');
    expect(await page.getByRole('row').nth(1).getByRole('cell').allTextContents()).toEqual([
      'greeting',
      '6',
      'hello\n',
    ]);
    // Another plan: the platform hears of it by a webhook.
    await page.getByRole('button', { name: 'Take the plan large' }).click();
    await expect.poll(async () => (await extension('show', 'my-kv')).stdout).toMatch(/^plan +large$/m);
    // The person is known at both now: another store opens without a question, and ends at the platform when it is deleted here.
    await extension('create', 'sample', 'other-kv');
    await page.goto((await extension('open', 'other-kv')).stdout.trim());
    await page.waitForURL('**/stores/kv_*');
    expect(await page.getByRole('heading').textContent()).toBe('other-kv');
    await page.getByRole('button', { name: 'Delete this store' }).click();
    await expect.poll(async () => (await extension('list')).stdout).not.toContain('other-kv');
  });

  it('is gone from programs that start after it was deleted', async () => {
    expect(await extension('delete', 'my-kv')).toMatchObject({ code: 0, stdout: 'my-kv is deleted\n' });
    await expect.poll(async () => (await inSprite('printenv SAMPLE_KV_URL')).code).toBe(1);
  });

  it('is bought, used and given back with the printed lines too', async () => {
    const { dev } = opened();
    const bought = await pasteJson(dev.commandFor('an extension of a provider'));
    expect(bought).toMatchObject({ name: 'my-kv', provider: 'sample', app: 'dev' });
    await expect
      .poll(() => paste(dev.commandFor('a program that starts now has them')).catch(String))
      .toMatch(/^http:/);
    expect(await paste(dev.commandFor('and writes with them'))).toBe('hello\n');
    expect(await paste(dev.commandFor('its page, for a browser'))).toMatch(/\/remora\/extensions\/kv_\w+\/sso\n$/);
    await paste(dev.commandFor('delete it; programs'));
    await expect.poll(async () => (await extension('list')).stdout).not.toContain('my-kv');
  });
});
