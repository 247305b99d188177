// The tour of a page that sleeps, with a `remora dev` of its own: the lines of the README as pasted, with a browser in the place of the
// person who opens the page.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { isWithoutChromium, openChromiumOnce } from '../../support/chromium.ts';
import { startDev } from '../../support/dev-process.ts';
import { openFreePort } from '../../support/free-port.ts';
import { loudly } from '../../support/loudly.ts';
import { memoryDir } from '../../support/memory-dir.ts';
import { readmeLines, top } from '../../support/readme-lines.ts';

const [create = '', open = '', awaitWarm = '', openAgain = ''] = readmeLines('Open the page of a sprite');
const openContext = openChromiumOnce();
const isWithoutPython = loudly(spawnSync('python3', ['--version']).status !== 0, 'no python3: the page is not served');

it.skipIf(isWithoutPython || isWithoutChromium())('is opened, left until it sleeps, and opened again', async () => {
  const page = await (await openContext()).newPage();
  const dir = memoryDir();
  await using dev = await startDev({ dir, words: ['--dir', dir, '--port', '0', '--sprite-idle', '3s'] });
  const { socket, platform_url, token, sprite_url, machine, user } = dev.record;
  const port = String(await openFreePort());
  async function pasteHere(line: string): Promise<string> {
    const here = line
      .replaceAll('8080', port)
      .replaceAll('/tmp/remora-dev', dir)
      .replaceAll('http://dev-1.dev.localhost:4184', sprite_url);
    const child = spawn('sh', ['-e', '-c', here], {
      cwd: top,
      stdio: ['ignore', 'pipe', 'inherit'],
      env: {
        PATH: `${top}bin:${process.env.PATH}`,
        HOME: '/nonexistent',
        REMORA_SOCKET: socket,
        REMORA_URL: platform_url,
        REMORA_API_TOKEN: token,
      },
    });
    let shown = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      shown += text;
    });
    expect((await once(child, 'close'))[0], here).toBe(0);
    return shown;
  }

  const why = `remora platform why ${machine} --dir ${dir}/platform`;
  expect(open).toContain(' http://dev-1.dev.localhost:4184 ');
  expect(await pasteHere(create)).toMatch(/^page is running, pid \d+$/m);
  await page.goto(sprite_url);
  await page.getByLabel('Email address').fill(user.email);
  await page.getByLabel('Password').fill(user.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL(`${sprite_url}/`);
  expect(await page.getByRole('heading').textContent()).toBe('Directory listing for /');
  expect(await pasteHere(awaitWarm)).toBe('status        warm\n');
  expect(await pasteHere(why)).toMatch(/^state +suspended$/m);
  await page.reload();
  expect(await page.getByRole('heading').textContent()).toBe('Directory listing for /');
  // It may sleep again before a busy machine has asked for its state.
  await expect
    .poll(async () => {
      expect(await pasteHere(openAgain)).toContain('<h1>Directory listing for /</h1>\n');
      return await pasteHere(why);
    })
    .toMatch(/^state +running\n[\s\S]*suspend after 3 s without work$/m);
});
