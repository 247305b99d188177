// The programs on the kit's page run as they stand there.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Secret } from '../../src/core/secret.ts';
import { atEnd } from '../support/at-end.ts';
import { openFreePort } from '../support/free-port.ts';
import { callSigned, provisioning } from '../support/kit-provider.ts';
import { tempDir } from '../support/temp-dir.ts';

const root = new URL('../../', import.meta.url).pathname;
const examples = [...readFileSync(`${root}src/provider/README.md`, 'utf8').matchAll(/```ts\n([\s\S]*?)```/g)].map(
  ([, text = '']) => text,
);
const env = {
  PATH: process.env.PATH ?? '',
  PROVISIONING_SECRET: 'provisioning-secret',
  SEAL_KEY: 'k'.repeat(32),
  WEBHOOK_SECRET: 'webhook-secret',
  SESSION_SECRET: 's'.repeat(32),
};

/** Runs a program in a package of its own that links this one, as the page says. */
function run(dir: string, text: string): ChildProcess & { output: string } {
  mkdirSync(join(dir, 'node_modules'));
  symlinkSync(root, join(dir, 'node_modules/remora'));
  writeFileSync(join(dir, 'provider.ts'), text);
  writeFileSync(join(dir, 'package.json'), '{"type":"module"}');
  const child = Object.assign(spawn(process.execPath, ['provider.ts'], { cwd: dir, env }), { output: '' });
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (child.output += data));
  atEnd(() => child.kill('SIGKILL'));
  return child;
}

it('the provider sells a box, and refuses with its own words', async () => {
  const port = await openFreePort();
  const child = run(tempDir(), (examples[0] ?? '').replaceAll('8300', String(port)));
  const baseUrl = `http://127.0.0.1:${port}/remora`;
  const secret = new Secret(env.PROVISIONING_SECRET);
  await expect
    .poll(() =>
      fetch(baseUrl).then(
        ({ status }) => status,
        () => child.output,
      ),
    )
    .toBe(404);
  const post = { method: 'POST', path: '/extensions', secret, body: provisioning('e1') };
  const made = await callSigned(baseUrl, post);
  expect(made.json).toMatchObject({ id: 'e1', config: { BOX_URL: 'https://box.example/e1' } });
  expect((await callSigned(baseUrl, post)).json).toEqual(made.json);
  expect((await callSigned(baseUrl, { path: '/extensions/e1', secret })).json).toMatchObject({ plan: 'free' });
});

it.each([
  ['sign-on', 1],
  ['webhooks', 2],
])('the lines of %s run', async (_name, at) => {
  expect(examples).toHaveLength(3);
  const child = run(tempDir(), (examples[at] ?? '').replace('https://api.platform.example', 'http://127.0.0.1:9'));
  const [code] = await once(child, 'close');
  expect([code, child.output]).toEqual([0, '']);
});
