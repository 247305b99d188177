// The programs on the kit's page run as they stand there, in a project that has the kit installed from what `npm pack` makes; and its types
// are those that the page says.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { Secret } from '../../src/core/secret.ts';
import { atEnd, openOnce } from '../support/at-end.ts';
import { openFreePort } from '../support/free-port.ts';
import { callSigned, provisioning } from '../support/kit-provider.ts';
import { installKit, packKit } from '../support/packed-kit.ts';

const root = new URL('../../', import.meta.url).pathname;
const examples = [...readFileSync(`${root}src/provider/README.md`, 'utf8').matchAll(/```ts\n([\s\S]*?)```/g)].map(
  ([, text = '']) => text,
);
const [provider = '', express = '', signOn = '', webhooks = ''] = examples;
const env = {
  PATH: process.env.PATH ?? '',
  PROVISIONING_SECRET: 'provisioning-secret',
  SEAL_KEY: 'k'.repeat(32),
  WEBHOOK_SECRET: 'webhook-secret',
  SESSION_SECRET: 's'.repeat(32),
};

const opened = openOnce(packKit);
let tarball = '';
beforeAll(() => {
  tarball = opened();
});

function run(text: string): ChildProcess & { output: string } {
  const dir = installKit(tarball, { 'provider.ts': text }, ['express']);
  const child = Object.assign(spawn(process.execPath, ['provider.ts'], { cwd: dir, env }), { output: '' });
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (child.output += data));
  atEnd(() => child.kill('SIGKILL'));
  return child;
}

async function expectServed(baseUrl: string, child: { readonly output: string }): Promise<void> {
  await expect
    .poll(() =>
      fetch(`${baseUrl}/nothing`).then(
        ({ status }) => status,
        () => child.output,
      ),
    )
    .toBe(404);
}

it('the provider sells a box, and refuses with its own words', async () => {
  const port = await openFreePort();
  const child = run(provider.replaceAll('8300', String(port)));
  const baseUrl = `http://127.0.0.1:${port}/remora`;
  const secret = new Secret(env.PROVISIONING_SECRET);
  await expectServed(baseUrl, child);
  const post = { method: 'POST', path: '/extensions', secret, body: provisioning('e1') };
  const made = await callSigned(baseUrl, post);
  expect(made.json).toMatchObject({ id: 'e1', config: { BOX_URL: 'https://box.example/e1' } });
  expect((await callSigned(baseUrl, post)).json).toEqual(made.json);
  expect((await callSigned(baseUrl, { path: '/extensions/e1', secret })).json).toMatchObject({ plan: 'free' });
});

it('the application of Express serves the provider and its own paths', async () => {
  const port = await openFreePort();
  const handler = `import { createProviderHandler, Secret } from 'remora/provider';
const handler = createProviderHandler({
  baseUrl: 'http://127.0.0.1:${port}/remora',
  provisioningSecrets: () => [new Secret('${env.PROVISIONING_SECRET}')],
  onError: console.error,
  provision: ({ id }) => ({ id, config: { BOX_URL: 'https://box.example' } }),
  update: () => undefined,
  read: () => undefined,
  remove: () => undefined,
});
createApp(handler).listen(${port}, '127.0.0.1');
`;
  const child = run(express + handler);
  const baseUrl = `http://127.0.0.1:${port}/remora`;
  await expectServed(baseUrl, child);
  const secret = new Secret(env.PROVISIONING_SECRET);
  const made = await callSigned(baseUrl, { method: 'POST', path: '/extensions', secret, body: provisioning('e1') });
  expect(made.json).toMatchObject({ id: 'e1' });
  expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('boxes');
});

it.each([
  ['sign-on', signOn],
  ['webhooks', webhooks],
])('the lines of %s run', async (_name, text) => {
  expect(examples).toHaveLength(4);
  const child = run(text.replace('https://api.platform.example', 'http://127.0.0.1:9'));
  const [code] = await once(child, 'close');
  expect([code, child.output]).toEqual([0, '']);
});

it('the page tells providers what the Extensions API asks of them', () => {
  const text = readFileSync(`${root}src/provider/README.md`, 'utf8').replaceAll(/\s+/g, ' ');
  const said = [
    // What the service does, 2, 3 and 4.
    /Make of them, idempotently: an account that owns extensions, an organization or team .* admin users/,
    /no traffic comes until that application has services\. A service may switch the handler of the proxy protocol on/,
    /Publish a public DNS record that resolves to `ip_address`, and use that name in the values of `config`/,
    // 6.
    /Do not ask users to confirm their address: it is confirmed already/,
    /Send mostly transactional messages, about the resource or its bill/,
    /Do not send the same message to one user several times because the user has resources in several organizations/,
    /Do not put other users of an organization on a campaign merely because they signed on/,
    // 7, 8 and 9.
    /A latency-sensitive provider, such as a database, has to run on the platform to be an official extension/,
    /bills the customers, and pays you after deducting its share of the revenue/,
    /Changes of billing and support plans belong in your own pages/,
    /does not run your billing logic, does not manage your service .*, passes support requests on to you, and does not deploy/,
  ];
  expect(said.filter((sentence) => !sentence.test(text))).toEqual([]);
});

it('the compiler checks a project with it, with the strictest options, and finds what is wrong', () => {
  const wrong = `import { createProviderHandler } from 'remora/provider';
// @ts-expect-error: the secret is missing, and an id is text
export const handler = createProviderHandler({ baseUrl: '', provision: () => ({ id: 1, config: {} }) });
`;
  const client = `import { createClient, platformOperations } from 'remora/client';
import { Agent } from 'undici';
const dispatcher = new Agent();
const client = createClient(platformOperations, { origin: 'http://127.0.0.1', dispatcher: () => dispatcher });
export const names = async () => (await client.call('listSprites')).sprites.map(({ name }) => name.toUpperCase());
// @ts-expect-error: a sprite is named
export const nobody = () => client.call('readSprite', {});
`;
  const compilerOptions = {
    target: 'esnext',
    module: 'nodenext',
    strict: true,
    noEmit: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    verbatimModuleSyntax: true,
    types: ['node'],
    skipLibCheck: false,
  };
  const files = {
    'box.ts': provider,
    'app.ts': express,
    'sign-on.ts': signOn,
    'webhooks.ts': webhooks,
    'client.ts': client,
    'wrong.ts': wrong,
  };
  const config = { 'tsconfig.json': JSON.stringify({ compilerOptions, include: ['*.ts'] }) };
  const dir = installKit(tarball, { ...files, ...config }, ['@types/node', '@types/express', 'undici']);
  const tsc = join(root, 'node_modules/.bin/tsc');
  const check = () => execFileSync(tsc, ['-p', '.'], { cwd: dir, encoding: 'utf8', stdio: 'pipe' });
  expect(check()).toBe('');
}, 180_000);

it('brings the built program and the client, no package that is not imported, and neither sources nor maps', () => {
  const dir = installKit(tarball, {});
  const listed = execFileSync('tar', ['tzf', tarball], { encoding: 'utf8' }).split('\n');
  expect(listed).toContain('package/dist/lib/provider/index.d.ts');
  const notShipped = /package\/(?:test|dist\/lib\/(?:agent|platform|cli|supervisor))\/|\.map$|\/src\/.*\.ts$/;
  expect(listed.filter((path) => notShipped.test(path))).toEqual([]);
  const { dependencies } = JSON.parse(readFileSync(join(dir, 'node_modules/remora/package.json'), 'utf8'));
  expect(Object.keys(dependencies)).toEqual(['@lydell/node-pty', 'better-sqlite3', 'oauth4webapi', 'zod']);
  const start = (...words: string[]) => execFileSync(process.execPath, words, { cwd: dir, encoding: 'utf8', env });
  expect(start('node_modules/remora/dist/remora.cjs', 'agent', '--check')).toMatch(/^\d+\.\d+\.\d+\n$/);
  const client = `import { createClient, platformOperations } from 'remora/client';
    const client = createClient(platformOperations, { origin: 'http://127.0.0.1', dispatcher: () => undefined });
    console.log(typeof client.call);`;
  expect(start('--input-type=module', '-e', client)).toBe('function\n');
});
