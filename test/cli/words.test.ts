// The commands that work on a platform: with a token over HTTP, at the socket of the operator, and beside a platform that does not
// run.
import { appendFileSync, chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { isGone } from '../support/left-machines.ts';
import { machineCommand, openTestPlatform, readReport, TEST_KEY, type TestPlatform } from '../support/open-platform.ts';
import { runHere } from '../support/run-here.ts';
import { runRemora } from '../support/run-remora.ts';
import { tempDir } from '../support/temp-dir.ts';

const KEY = 'sk-of-a-file-0123456789';

/** Runs words with the token of the organization, as from another machine. */
function elsewhere(platform: TestPlatform, token = platform.token.reveal()) {
  const env = { REMORA_URL: platform.url, REMORA_API_TOKEN: token };
  return (...words: string[]) => runHere(words, env);
}

/** Runs words on the machine of the platform, without any key. */
function here(platform: Pick<TestPlatform, 'dir'>) {
  return (...words: string[]) => runHere([...words, '--dir', platform.dir]);
}

function writeKey(dir: string): string {
  const path = join(dir, 'api-key');
  writeFileSync(path, `${KEY}\n`, { mode: 0o600 });
  return path;
}

const doors = [
  ['with a token elsewhere', elsewhere],
  ["at the platform's own socket", here],
] as const;

describe.each(doors)('%s', (_door, open) => {
  it('a sprite is made, listed, shown, changed and deleted', async () => {
    const run = open(await openTestPlatform());
    expect(await run('sprite', 'create', 'web', '--labels', 'a,b')).toMatchObject({ code: 0, err: '' });
    expect((await run('sprite', 'list')).out).toMatch(/^NAME +STATUS .*\nweb +cold +a,b +spr_\w+ +(now|\d+ s ago) +-$/);
    expect((await run('sprite', 'list', '--prefix', 'x')).out).not.toContain('web');
    expect(JSON.parse((await run('sprite', 'list', '--json')).out)).toMatchObject({ sprites: [{ name: 'web' }] });
    expect((await run('sprite', 'update', 'web', '--auth', 'public')).out).toMatch(/^web +a,b +\{"auth":"public"\}$/);
    expect((await run('sprite', 'show', 'web')).out).toMatch(/\nurl +http:\S+ \(public\)\nlabels +a,b\n/);
    expect(await run('sprite', 'update', 'web')).toMatchObject({ code: 2, err: expect.stringContaining('--labels') });
    expect(await run('sprite', 'delete', 'web')).toMatchObject({ code: 0, out: 'web is deleted' });
    expect(await run('sprite', 'show', 'web')).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringContaining('not_found'),
    });
  });

  it('a connector is made, listed, given another policy and deleted, and its key is in no answer', async () => {
    const platform = await openTestPlatform();
    const run = open(platform);
    const made = await run('connector', 'create', 'openai', '--api-key-file', writeKey(platform.dir));
    expect(made).toMatchObject({ code: 0, out: expect.stringMatching(/^conn_\w+ +openai +key_/) });
    const id = made.out.split(' ')[0] ?? '';
    expect((await run('connector', 'list')).out).toMatch(/\nconn_\w+ +- +openai +api_key +key_\w+ +.* \{\}$/);
    expect((await run('connector', 'policy', id)).out).toBe('{}');
    expect((await run('connector', 'policy', id, '{"name_prefix":"web"}')).out).toBe('{"name_prefix":"web"}');
    expect((await run('connector', 'show', id)).out).toContain('{"name_prefix":"web"}');
    expect((await run('connector', 'list', '--provider', 'anthropic', '--json')).out).toBe('{"connections":[]}');
    expect(await run('connector', 'policy', id, '{"nonsense":1}')).toMatchObject({ code: 2 });
    expect((await run('connector', 'delete', id)).code).toBe(0);
    expect((await run('connector', 'list', '--json')).out).toBe('{"connections":[]}');
    const all = [made, await run('connector', 'list'), await run('connector', 'list', '--json')];
    expect(JSON.stringify(all)).not.toContain(KEY);
  });

  it('a connector has a name, which stands for its id', async () => {
    const platform = await openTestPlatform();
    const run = open(platform);
    const create = ['connector', 'create', 'openai', '--api-key-file', writeKey(platform.dir), '--name'];
    const id = (await run(...create, 'chat')).out.split(' ')[0] ?? '';
    expect(await run(...create, 'chat')).toMatchObject({ code: 1, err: expect.stringContaining('already_exists') });
    expect(await run(...create, 'Not A Name')).toMatchObject({ code: 1, err: expect.stringContaining('name') });
    expect((await run('connector', 'show', 'chat')).out).toMatch(new RegExp(`^id +${id}\\nname +chat\\n`));
    expect((await run('connector', 'policy', 'chat', '{"allow_all":true}')).out).toBe('{"allow_all":true}');
    const other = (await run(...create, 'other')).out.split(' ')[0] ?? '';
    expect(await run('connector', 'name', other, 'chat')).toMatchObject({ code: 1 });
    expect((await run('connector', 'name', 'chat', 'talk')).out).toMatch(/^conn_\w+ +talk$/);
    expect((await run('connector', 'name', other, 'chat')).code).toBe(0);
    expect((await run('connector', 'name', 'chat', '-')).out).toBe(`${other}  -`);
    expect((await run('connector', 'delete', 'talk')).out).toBe(`${id} is deleted`);
    expect(await run('connector', 'show', 'talk')).toMatchObject({ code: 1 });
  });

  it('the log of a machine is read, and only with full access', async () => {
    const platform = await openTestPlatform();
    await platform.admin.createSprite({ organization: 'acme', name: 'web' });
    const { dir } = await platform.admin.readMachine({ organization: 'acme', sprite: 'web' });
    const run = open(platform);
    expect(await run('machine', 'logs', 'web')).toMatchObject({ code: 0, out: '' });
    mkdirSync(dir, { recursive: true });
    writeFileSync(join(dir, 'agent.log'), `${'x'.repeat(300_000)}\none\ntwo é\nthree`);
    expect((await run('machine', 'logs', 'web', '--tail', '2')).out).toBe('two é\nthree');
    expect((await run('machine', 'logs', 'web', '--json')).out.split('\n')).toEqual([
      '{"line":"one"}',
      '{"line":"two é"}',
      '{"line":"three"}',
    ]);
    const reading = await platform.admin.createToken({ organization: 'acme', access: 'read' });
    expect(await elsewhere(platform, reading.reveal())('machine', 'logs', 'web')).toMatchObject({
      code: 1,
      err: expect.stringContaining('only reads'),
    });
  });

  it('a token is made, works, is listed without its text, and is revoked', async () => {
    const platform = await openTestPlatform();
    const run = open(platform);
    await run('sprite', 'create', 'web');
    const text = (await run('token', 'create', '--sprite', 'web', '--name', 'ci', '--expires', '90d')).out;
    expect(text).toMatch(/^remora_sprite_\S+$/);
    const status = async () =>
      (await fetch(`${platform.url}/v1/sprites/web`, { headers: { authorization: `Bearer ${text}` } })).status;
    expect(await status()).toBe(200);
    const { out } = await run('token', 'list');
    expect(out).toMatch(/tok_\w+ +ci +web +full +- +(now|\d+ s ago) +in (89|90) d/);
    expect(out).not.toContain(text);
    const id = /(tok_\w+) +ci/.exec(out)?.[1] ?? '';
    expect((await run('token', 'delete', id)).code).toBe(0);
    expect(await status()).toBe(401);
    expect(await run('token', 'revoke', id)).toMatchObject({ code: 1, err: expect.stringContaining('no such token') });
    expect(await run('token', 'create', '--sprite', 'nobody')).toMatchObject({ code: 1 });
  });

  it('an app is made, listed, used by a sprite and deleted', async () => {
    const platform = await openTestPlatform();
    const run = open(platform);
    expect(await run('app', 'create', 'shop')).toMatchObject({ code: 0, out: 'shop' });
    expect(await run('sprite', 'create', 'web', '--app', 'shop')).toMatchObject({ code: 0 });
    expect((await run('sprite', 'show', 'web')).out).toMatch(/\napp +shop\n/);
    expect((await run('app', 'list')).out).toMatch(
      /^NAME +ORGANIZATION +MACHINES +CREATED\nacme +acme +0 .*\nshop +acme +1 /,
    );
    expect((await run('machine', 'list', '--app', 'shop')).out).toContain(' web ');
    expect(await run('app', 'delete', 'shop')).toMatchObject({
      code: 1,
      err: expect.stringContaining('has a machine'),
    });
    await run('sprite', 'delete', 'web');
    expect(await run('app', 'delete', 'shop')).toMatchObject({ code: 0, out: 'shop is deleted' });
    expect(await run('app', 'create', 'No')).toMatchObject({ code: 1 });
  });

  it('a machine is listed, shown, started, waited for, suspended and stopped, by its id or its sprite', async () => {
    const platform = await openTestPlatform({ agentCommand: machineCommand() });
    await platform.admin.createSprite({ organization: 'acme', name: 'web' });
    const { id } = await platform.admin.readMachine({ organization: 'acme', sprite: 'web' });
    const run = open(platform);
    expect((await run('machine', 'list')).out).toMatch(new RegExp(`^ID +NAME +STATE .*\\n${id} +web +stopped `));
    expect((await run('machine', 'show', id)).out).toMatch(/\nstate +stopped\n/);
    await platform.admin.startMachine({ organization: 'acme', sprite: 'web' });
    expect((await run('machine', 'wait', 'web', '--timeout', '20')).out).toContain(`web (${id}) is running`);
    expect((await run('machine', 'start', 'web')).out).toContain('it was running');
    expect((await run('machine', 'suspend', 'web')).code).toBe(0);
    expect((await run('machine', 'wait', 'web', '--state', 'suspended')).code).toBe(0);
    expect((await run('machine', 'stop', id, '--timeout', '100ms')).code).toBe(0);
    expect((await run('machine', 'wait', id, '--state', 'stopped', '--json')).out).toBe('{"ok":true}');
    expect(await run('machine', 'show', 'nobody')).toMatchObject({ code: 1, err: expect.stringContaining('nobody') });
    expect(await run('machine', 'wait', id, '--state', 'asleep')).toMatchObject({ code: 2 });
  });

  it('the own organization and its usage are shown', async () => {
    const platform = await openTestPlatform();
    await platform.admin.setLimits('acme', { running_limit: 2 });
    const run = open(platform);
    expect((await run('organization', 'show')).out).toBe('acme  running 2  warm any  creations default');
    expect((await run('usage', 'list', '--json')).out).toBe('{"usage":[]}');
    expect((await run('usage', 'list', '--since', 'january')).code).toBe(2);
    expect((await run('usage', 'machines', '--until', 'january')).code).toBe(2);
    const made = { config: {}, skip_launch: true };
    await platform.call({ method: 'POST', path: '/v1/apps/acme/machines', body: made });
    expect((await run('usage', 'machines')).out).toMatch(
      /^DAY .*HOW MUCH\n\d{4}-\d\d-\d\d +acme +machines \w+ +[\d.]+ s/,
    );
  });
});

describe('the operator', () => {
  it('deletes an organization, which loses its sprites and connectors only by force', async () => {
    const platform = await openTestPlatform({ agentCommand: machineCommand() });
    const run = here(platform);
    await run('organization', 'create', 'globex');
    const of = ['--organization', 'globex'];
    await run('sprite', 'create', 'web', ...of);
    await run('connector', 'create', 'openai', '--api-key-file', writeKey(platform.dir), ...of);
    const token = (await run('token', 'create', ...of)).out;
    await platform.admin.startMachine({ organization: 'globex', sprite: 'web' });
    const { dir } = await platform.admin.readMachine({ organization: 'globex', sprite: 'web' });
    const { pid } = await eventually(() => readReport(dir));
    expect(await run('organization', 'delete', 'globex')).toMatchObject({
      code: 1,
      err: expect.stringContaining('--force'),
    });
    expect((await run('sprite', 'list', ...of)).out).toContain('web');
    const gone = await run('organization', 'delete', 'globex', '--force');
    expect(gone).toMatchObject({ code: 0, out: 'globex is deleted' });
    expect(isGone(pid)).toBe(true);
    expect((await run('organization', 'list')).out).not.toContain('globex');
    expect(await elsewhere(platform, token)('sprite', 'list')).toMatchObject({ code: 1 });
    expect((await run('organization', 'create', 'globex')).out).toBe('globex');
    expect((await run('connector', 'list', ...of, '--json')).out).toBe('{"connections":[]}');
    expect(await run('organization', 'delete', 'globex')).toMatchObject({ code: 0 });
    expect(await run('organization', 'delete', 'globex')).toMatchObject({ code: 1 });
  });

  it('works with every organization, and names one where there are several', async () => {
    const platform = await openTestPlatform();
    expect(statSync(join(platform.dir, 'platform.sock')).mode & 0o777).toBe(0o600);
    const run = here(platform);
    expect((await run('organization', 'create', 'globex', '--warm-limit', '3')).out).toBe('globex');
    expect((await run('organization', 'update', 'globex', '--warm-limit', 'none')).code).toBe(0);
    expect((await run('organization', 'list')).out).toMatch(/\nacme +- +- +-\nglobex +- +- +-$/);
    expect(await run('organization', 'create', 'globex')).toMatchObject({ code: 1 });
    expect(await run('sprite', 'create', 'web')).toMatchObject({
      code: 1,
      err: expect.stringMatching(/several .*name one/),
    });
    expect((await run('sprite', 'create', 'web', '--organization', 'globex')).code).toBe(0);
    expect((await run('sprite', 'list', '--organization', 'acme', '--json')).out).toBe('{"sprites":[]}');
    expect(await run('sprite', 'list', '--organization', 'nobody')).toMatchObject({ code: 1 });
    expect(await run('host', 'list')).toMatchObject({ code: 0 });
  });

  it('is nobody with a token', async () => {
    const platform = await openTestPlatform();
    for (const path of ['/v1/organizations', '/v1/organizations/acme', '/v1/hosts']) {
      const headers = { 'remora-organization': 'acme' };
      expect(await platform.call({ path, headers }), path).toMatchObject({ status: 403, json: { error: 'forbidden' } });
      expect(await platform.call({ path, headers, token: undefined }), path).toMatchObject({ status: 401 });
    }
    const run = elsewhere(platform);
    expect(await run('organization', 'list')).toMatchObject({ code: 1, err: expect.stringContaining('own socket') });
    expect(await run('sprite', 'list', '--organization', 'acme')).toMatchObject({ code: 2 });
  });

  it('is not asked for a vault key beside a platform that does not run, but for a credential', async () => {
    const platform = await openTestPlatform();
    await platform.admin.createSprite({ organization: 'acme', name: 'web' });
    await platform[Symbol.asyncDispose]();
    const run = here(platform);
    expect((await run('connector', 'list', '--json')).out).toBe('{"connections":[]}');
    expect((await run('sprite', 'list')).out).toContain('web');
    expect((await run('token', 'create')).out).toMatch(/^remora_org_/);
    expect((await run('organization', 'create', 'globex')).code).toBe(0);
    const create = [
      'connector',
      'create',
      'openai',
      '--api-key-file',
      writeKey(platform.dir),
      '--organization',
      'acme',
    ];
    expect(await run(...create)).toMatchObject({ code: 1, err: expect.stringContaining('vault key') });
    const keyFile = join(platform.dir, 'key');
    writeFileSync(keyFile, TEST_KEY.reveal(), { mode: 0o600 });
    expect((await run(...create, '--key-file', keyFile)).out).toMatch(/^conn_/);
    expect(await runHere(['sprite', 'list', '--dir', join(tempDir(), 'none')])).toMatchObject({
      code: 1,
      err: expect.stringContaining('there is no platform in'),
    });
  });
});

it('the log of a machine is followed, also when the file begins again', async () => {
  const platform = await openTestPlatform();
  await platform.admin.createSprite({ organization: 'acme', name: 'web' });
  const { id, dir } = await platform.admin.readMachine({ organization: 'acme', sprite: 'web' });
  mkdirSync(dir, { recursive: true });
  const file = join(dir, 'agent.log');
  writeFileSync(file, 'old\nhal');
  const gone = new AbortController();
  const answer = await fetch(`${platform.url}/v1/apps/acme/machines/${id}/log?follow=true&tail=1`, {
    headers: { authorization: `Bearer ${platform.token.reveal()}` },
    signal: gone.signal,
  });
  let text = '';
  const reading = (async () => {
    for await (const part of answer.body ?? []) text += Buffer.from(part).toString();
  })().catch(() => undefined);
  const sees = (line: string) => eventually(() => text.includes(JSON.stringify({ line })));
  await sees('old');
  appendFileSync(file, 'f\n');
  await sees('half');
  writeFileSync(file, 'a\n');
  await sees('a');
  gone.abort();
  await reading;
});

describe('a token', () => {
  it('makes none that may do more than itself', async () => {
    const platform = await openTestPlatform();
    const expires_at = Date.now() + 3_600_000;
    const bounded = await platform.admin.createToken({ organization: 'acme', user_id: 'ada', expires_at });
    const run = elsewhere(platform, bounded.reveal());
    expect(await run('token', 'create', '--expires', '2h')).toMatchObject({
      code: 1,
      err: expect.stringContaining('live longer'),
    });
    expect(await run('token', 'create', '--user', 'bob')).toMatchObject({
      code: 1,
      err: expect.stringContaining('of ada'),
    });
    const made = JSON.parse((await run('token', 'create', '--json')).out);
    expect(made).toMatchObject({ user_id: 'ada', access: 'full', expires_at: new Date(expires_at).toISOString() });
    const reading = await platform.admin.createToken({ organization: 'acme', access: 'read' });
    expect(await elsewhere(platform, reading.reveal())('token', 'create')).toMatchObject({
      code: 1,
      err: expect.stringContaining('only reads'),
    });
    await platform.admin.createSprite({ organization: 'acme', name: 'web' });
    const ofSprite = await platform.admin.createToken({ organization: 'acme', sprite: 'web' });
    for (const words of [
      ['token', 'create'],
      ['token', 'list'],
      ['token', 'delete', made.id],
    ]) {
      expect(await elsewhere(platform, ofSprite.reveal())(...words)).toMatchObject({ code: 1 });
    }
  });

  it('of another organization is not there', async () => {
    const platform = await openTestPlatform();
    await platform.admin.createOrganization('globex');
    const other = await platform.admin.createToken({ organization: 'globex' });
    const own = JSON.parse((await elsewhere(platform)('token', 'list', '--json')).out).tokens[0].id;
    const run = elsewhere(platform, other.reveal());
    expect((await run('token', 'list')).out).not.toContain(own);
    expect(await run('token', 'delete', own)).toMatchObject({ code: 1 });
    expect((await elsewhere(platform)('token', 'list')).out).toContain(own);
  });

  it('is listed a page at a time', async () => {
    const platform = await openTestPlatform();
    for (let count = 0; count < 4; count += 1) await platform.admin.createToken({ organization: 'acme' });
    const seen: string[] = [];
    let next: string | undefined;
    do {
      const query = next === undefined ? '' : `&continuation_token=${next}`;
      const { json } = await platform.call({ path: `/v1/tokens?max_results=2${query}` });
      seen.push(...json.tokens.map(({ id }: { id: string }) => id));
      next = json.next_continuation_token;
    } while (next !== undefined);
    expect(new Set(seen).size).toBe(5);
    expect(await platform.call({ path: '/v1/tokens?continuation_token=x' })).toMatchObject({ status: 400 });
  });
});

describe('remora login', () => {
  it('keeps address and token for this user alone, and logout forgets them', async () => {
    const platform = await openTestPlatform();
    const config = tempDir();
    const env = { XDG_CONFIG_HOME: config };
    const login = await runRemora(['login', '--url', `${platform.url}/`], {
      env,
      input: `${platform.token.reveal()}\n`,
    });
    expect(login).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('as acme') });
    expect(login.stdout).not.toContain(platform.token.reveal());
    const path = join(config, 'remora', 'context.json');
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({ url: platform.url, token: platform.token.reveal() });
    expect((await runHere(['organization', 'show'], env)).out).toContain('acme');
    expect((await runHere(['organization', 'show', '--url', platform.url], env)).out).toContain('acme');
    expect((await runHere(['logout'], env)).code).toBe(0);
    expect(await runHere(['organization', 'show', '--url', platform.url], env)).toMatchObject({
      code: 2,
      err: expect.stringContaining('no token'),
    });
  });

  it('keeps nothing that does not work', async () => {
    const platform = await openTestPlatform();
    await platform.admin.createSprite({ organization: 'acme', name: 'web' });
    const ofSprite = await platform.admin.createToken({ organization: 'acme', sprite: 'web' });
    const env = { XDG_CONFIG_HOME: tempDir() };
    const words = ['login', '--url', platform.url];
    expect(await runRemora(words, { env, input: 'remora_org_wrong' })).toMatchObject({ code: 1 });
    expect(await runRemora(words, { env, input: ofSprite.reveal() })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('of a sprite'),
    });
    expect(await runRemora(words, { env, input: '' })).toMatchObject({ code: 2 });
    expect(await runHere(['login', '--url', 'ftp://x'], env)).toMatchObject({ code: 2 });
    expect(() => statSync(join(env.XDG_CONFIG_HOME, 'remora'))).toThrow('ENOENT');
  });

  it('is weaker than a token that a flag or a variable gives, which goes to the same address', async () => {
    const platform = await openTestPlatform();
    const dir = tempDir();
    const env = { XDG_CONFIG_HOME: join(dir, 'config') };
    await runRemora(['login', '--url', platform.url], { env, input: platform.token.reveal() });
    const narrow = await platform.call({ method: 'POST', path: '/v1/tokens', body: { access: 'read' } });
    const [reading, wrong, none] = ['reading', 'wrong', 'none'].map((name) => join(dir, name)) as [
      string,
      string,
      string,
    ];
    writeFileSync(reading, `${narrow.json.token}\n`, { mode: 0o600 });
    writeFileSync(wrong, 'remora_org_wrong', { mode: 0o600 });
    const show = async (more: Readonly<Record<string, string>>, ...flags: string[]) => {
      const run = await runHere(['organization', 'show', ...flags], { ...env, ...more });
      return run.code === 0 ? 'shown' : run.err;
    };
    const create = (more: Readonly<Record<string, string>>, ...flags: string[]) =>
      runHere(['sprite', 'create', 'made', ...flags], { ...env, ...more });
    for (const refused of [
      await create({}, '--token-file', reading),
      await create({ REMORA_API_TOKEN_FILE: reading }),
      await create({ REMORA_API_TOKEN: narrow.json.token }),
    ]) {
      expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('(read_only)') });
    }
    expect(await show({ REMORA_API_TOKEN: '', REMORA_API_TOKEN_FILE: '' })).toBe('shown');
    expect(await show({ REMORA_API_TOKEN: 'wrong', REMORA_API_TOKEN_FILE: wrong }, '--token-file', reading)).toBe(
      'shown',
    );
    expect(await show({ REMORA_API_TOKEN: 'wrong', REMORA_API_TOKEN_FILE: reading })).toBe('shown');
    expect(await show({}, '--token-file', none)).toContain(`--token-file: there is no file or directory ${none}`);
    expect(await show({ REMORA_API_TOKEN_FILE: none })).toContain(
      `REMORA_API_TOKEN_FILE: there is no file or directory`,
    );
    expect((await create({})).code).toBe(0);
  });

  it('is not believed in a file that others may read', async () => {
    const config = tempDir();
    const platform = await openTestPlatform();
    const env = { XDG_CONFIG_HOME: config };
    await runRemora(['login', '--url', platform.url], { env, input: platform.token.reveal() });
    chmodSync(join(config, 'remora', 'context.json'), 0o644);
    expect(await runHere(['sprite', 'list'], env)).toMatchObject({
      code: 1,
      err: expect.stringContaining('open to others'),
    });
  });
});

describe('where a command works', () => {
  it('is said when nobody answers there', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    const url = `http://127.0.0.1:${port}`;
    const run = await runHere(['sprite', 'list', '--url', url], { REMORA_API_TOKEN: 'x' });
    expect(run).toMatchObject({ code: 3, err: expect.stringContaining(url) });
  });

  it('is one platform, with --url and --token-file before variables', async () => {
    const platform = await openTestPlatform();
    const file = join(tempDir(), 'token');
    writeFileSync(file, `${platform.token.reveal()}\n`);
    const env = { REMORA_URL: 'http://127.0.0.1:1', REMORA_API_TOKEN: 'x', REMORA_PLATFORM_DIR: '/nonexistent' };
    expect((await runHere(['organization', 'show', '--url', platform.url, '--token-file', file], env)).code).toBe(0);
    expect(await runHere(['sprite', 'list', '--url', platform.url, '--dir', 'x'], env)).toMatchObject({ code: 2 });
    expect(
      await runHere(['sprite', 'list', '--url', platform.url, '--token-file', '/nonexistent/t'], env),
    ).toMatchObject({
      code: 1,
      err: expect.stringMatching(/--token-file: there is no file or directory \/nonexistent\/t/),
    });
    expect(await runHere(['sprite', 'list', '--url', 'x'], env)).toMatchObject({ code: 2 });
    const beside = await runHere(['sprite', 'list', '--dir', platform.dir, '--token-file', file], env);
    expect(beside).toMatchObject({
      code: 2,
      err: expect.stringContaining('--token-file is for a platform at an address'),
    });
  });

  it('is the platform of this machine for the commands below `remora platform`', async () => {
    const platform = await openTestPlatform();
    const env = { REMORA_URL: 'http://127.0.0.1:1', REMORA_API_TOKEN: 'x', REMORA_PLATFORM_DIR: platform.dir };
    expect((await runHere(['platform', 'organization', 'list'], env)).out).toMatch(/\nacme /);
    expect((await runHere(['platform', 'sprite', 'create', 'acme', 'web'], env)).code).toBe(0);
    expect((await platform.call({ path: '/v1/sprites/web' })).status).toBe(200);
  });
});
