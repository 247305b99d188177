// Every secret of extensions and sign-on, used at a real platform with a real machine, and looked for wherever it does not belong.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { agentOperations } from '../../src/contract/agent-operations.ts';
import { OPERATOR_SOCKET } from '../../src/contract/organizations.ts';
import { platformOperations } from '../../src/contract/platform-operations.ts';
import { Secret } from '../../src/core/secret.ts';
import { signContent } from '../../src/core/signature.ts';
import { atEnd } from '../support/at-end.ts';
import { CanarySearch, drawCanary, toForms } from '../support/canary.ts';
import { eventually } from '../support/eventually.ts';
import { openExec, toExecQuery } from '../support/exec-socket.ts';
import { openKillablePlatform } from '../support/killable-platform.ts';
import { copyProgram } from '../support/program-copy.ts';
import { startProvisioner } from '../support/provisioner.ts';
import { type ReadAnswer, type ReadCaller, readAll } from '../support/read-all.ts';
import { runHere } from '../support/run-here.ts';
import { runRemora } from '../support/run-remora.ts';
import { exchange, readTokenInfo, TestBrowser, toAuthorizePath } from '../support/sign-on-client.ts';
import { tempDir } from '../support/temp-dir.ts';

/** The value of the operator, and that of the provider. */
const [OWN, SOLD] = [drawCanary(), drawCanary()];
const SHOW = 'printf %s "$OWN_KEY:$KV_KEY" | sha256sum';
const digest = (own: string, sold: string) => createHash('sha256').update(`${own}:${sold}`).digest('hex');
const [both, neither] = [digest(OWN, SOLD), digest('', '')];
const redirect_uri = 'https://provider.example/callback';
const NEWER = '99.1.0';

/** A platform of this version with a machine, a provider, a user and an extension; each of their secrets is looked for. */
async function open() {
  const program = copyProgram();
  const platform = await openKillablePlatform({ program: program.path, words: ['--log-level', 'trace'] });
  const search = new CanarySearch({ 'secret of the operator': OWN, 'variable of the extension': SOLD });
  const { url, platformDir, call } = platform;
  // biome-ignore lint/suspicious/noExplicitAny: the fields of answers are what the test uses.
  async function operate(...words: string[]): Promise<any> {
    const { code, out, err } = await runHere(['platform', ...words, '--json', '--dir', platformDir]);
    if (code !== 0) throw new Error(err);
    return out === '' ? undefined : JSON.parse(out);
  }

  const provider = await startProvisioner();
  provider.spoil(({ method, json }, response) => {
    if (method !== 'POST') return false;
    provider.resources.set(`r-${json.id}`, { status: 'ready', plan: 'small' });
    response.writeHead(200).end(JSON.stringify({ id: `r-${json.id}`, config: { KV_KEY: SOLD } }));
    return true;
  });
  const uris = ['--base-url', provider.base_url, '--redirect-uri', redirect_uri];
  const client = await operate('extension-provider', 'create', 'kv', ...uris);
  const secrets = Object.fromEntries(
    (['provisioning', 'webhook', 'client'] as const).map((kind) => [kind, `${client[`${kind}_secret`]}`]),
  );
  for (const [kind, value] of Object.entries(secrets)) search.add(`former ${kind} secret`, value);
  // Both are good for a while, and both are used.
  for (const kind of Object.keys(secrets)) {
    const rotated = await operate('extension-provider', 'rotate-secret', 'kv', kind);
    secrets[kind] = search.add(`${kind} secret`, rotated[`${kind}_secret`]);
  }
  provider.secrets.push(new Secret(secrets.provisioning ?? ''));

  const email = 'ada@example.com';
  const member = ['--name', 'Ada', '--organization', 'acme', '--role', 'admin'];
  const user = { email, ...(await operate('user', 'create', email, ...member)) };
  search.add('password', user.password);

  async function tell(resource: object): Promise<number> {
    const body = JSON.stringify({ timestamp: Math.floor(Date.now() / 1_000), action: 'resource.updated', resource });
    const signature = signContent(new Secret(secrets.webhook ?? ''), body);
    const headers = { 'content-type': 'application/json', 'x-signature': signature };
    return (await fetch(`${url}/api/hooks/extensions/kv`, { method: 'POST', headers, body })).status;
  }

  /** Signs on in a browser, and by the server of the provider. */
  async function signOn() {
    const browser = new TestBrowser(url);
    const from = { url, client: { ...client, client_secret: secrets.client }, redirect_uri };
    await browser.get(toAuthorizePath(from));
    const wrong = search.add('mistyped password', 'mistyped-password-0451');
    await browser.submit({ action: 'sign_in', email, password: wrong });
    const code = (await browser.signOn(toAuthorizePath(from), user)).query.code ?? '';
    search.add('code', code);
    search.add('code that nobody exchanges', (await browser.get(toAuthorizePath(from))).query.code ?? '');
    for (const [name, value] of browser.cookies) search.add(`cookie ${name}`, value);
    const first = (await exchange(from, { code })).json;
    const old = { ...from, client };
    const second = (await exchange(old, { grant_type: 'refresh_token', refresh_token: first.refresh_token, code: '' }))
      .json;
    for (const [name, tokens] of Object.entries({ first, second })) {
      search.add(`${name} access token`, tokens.access_token);
      search.add(`${name} refresh token`, tokens.refresh_token);
    }
    expect((await readTokenInfo({ url }, second.access_token)).json.user_id).toBe(user.user_id);
    return second.access_token as string;
  }

  const run = async () =>
    (await call({ method: 'POST', path: `/v1/sprites/dev-1/exec?${toExecQuery(['sh', '-c', SHOW])}` })).text;
  const socket = join(platform.dir, 'agent.sock');
  async function runInTerminal(): Promise<string> {
    const caller = await openExec(socket, `?${toExecQuery(['sh', '-c', SHOW], { tty: 'true' })}`);
    await caller.closed;
    return caller.messages.join('');
  }
  const put = (name: string, request: object) =>
    call({ method: 'PUT', path: `/v1/sprites/dev-1/services/${name}?duration=0`, body: request });
  const log = async (name: string) => (await call({ path: `/v1/sprites/dev-1/services/${name}/logs` })).text;
  return {
    ...{ program, platform, provider, client, search, user, operate, tell, signOn, socket },
    ...{ run, runInTerminal, put, log },
  };
}

type Opened = Awaited<ReturnType<typeof open>>;

/** Every operation that reads, of the platform and the agent, to everybody who may call, or to those of `whom`. */
async function readEverything(
  { platform, socket, client, user }: Opened,
  access_token: string,
  whom?: readonly string[],
) {
  const { url, platformDir, dir, call } = platform;
  const port = Number(new URL(url).port);
  const machine_id = dir.split('/').at(-1) ?? '';
  const made = async (body: object): Promise<string> =>
    (await call({ method: 'POST', path: '/v1/tokens', body })).json.token;
  const [read, sprite] = [await made({ access: 'read' }), await made({ sprite: 'dev-1' })];
  const machine = readFileSync(join(dir, 'token'), 'utf8').trim();
  const filling = {
    app_name: 'acme',
    machine_id,
    name: 'dev-1',
    service: 'web',
    key: 'x',
    user: user.user_id,
    '/v1/extensions/{id}': 'my-kv',
    '/v1/extension-providers/{name}': 'kv',
    '/v1/organizations/{name}': 'acme',
    '/v1/sprites/{name}/checkpoints/{id}': 'v0',
    '/v1/checkpoints/{id}': 'v0',
    '/oauth/authorize?': toAuthorizePath({ client, redirect_uri }).split('?')[1] ?? '',
  };
  const bearer = (token: string): ReadCaller => ({
    to: { host: '127.0.0.1', port },
    headers: { authorization: `Bearer ${token}` },
  });
  const callers: Readonly<Record<string, ReadCaller>> = {
    nobody: { to: { host: '127.0.0.1', port } },
    organization: bearer(platform.token.reveal()),
    reader: bearer(read),
    sprite: bearer(sprite),
    machine: bearer(machine),
    provider: bearer(access_token),
    operator: { to: { socketPath: join(platformDir, OPERATOR_SOCKET) } },
  };
  const readers = Object.entries(callers).map(([who, caller]) => ({ who, caller, operations: platformOperations }));
  const program = { who: 'program', caller: { to: { socketPath: socket } }, operations: agentOperations };
  const all: (ReadAnswer & { readonly what: string })[] = [];
  for (const { who, caller, operations } of [...readers, program]) {
    if (whom?.includes(who) === false) continue;
    const answers = await readAll(operations, caller, filling);
    all.push(...answers.map((answer) => ({ ...answer, what: `${who}: ${answer.operation}` })));
  }
  return all;
}

/** Some of them, which have to be answered for the search to be worth anything. */
const ANSWERED = `
nobody: metrics, health, openapi, authorizeSignOn
organization: listAppSecrets, readMachine, readMachineLog, listMachineEvents, listMachineVersions, listServices, readService, followServiceLogs
organization: listProcesses, listExtensions, readExtension, listCheckpoints, readCheckpoint, listTokens, checkSprite, readFile, listFiles
reader: listAppSecrets, listExtensions, readMachine, listSprites
sprite: readSprite, readMachine, listMachineEvents, watchGateway
machine: readSprite, readMachine
provider: readTokenInfo
operator: metrics, listUsers, readUser, listOrganizations, readOrganization, listExtensionProviders, readExtensionProvider
operator: listExtensionWebhooks, listAppSecrets, readExtension
program: status, metrics, watchEvents, machine, gatewayLog, listServices, readService, followServiceLogs, listProcesses, readFile
`
  .trim()
  .split('\n')
  .flatMap((line) => {
    const [who = '', operations = ''] = line.split(': ');
    return operations.split(', ').map((operation) => `${who}: ${operation}`);
  });

test('secrets of extensions and sign-on are used for all that they are for, and are nowhere else', async () => {
  const all = await open();
  const { program, platform, provider, search, user, operate, tell, signOn, run, runInTerminal, put, log } = all;
  const { platformDir, call, machine } = platform;
  const found = () => [
    ...search.files(join(platformDir, '..')),
    ...search.processes(),
    ...search.in(platform.log()).map((name) => `${name} in the log`),
  ];

  const inAnswers = (answers: Awaited<ReturnType<typeof readEverything>>) =>
    answers.flatMap(({ what, bytes }) => search.in(bytes).map((name) => `${name} in ${what}`));

  const input = { input: `${OWN}\n` };
  const set = ['platform', 'secret', 'set', 'OWN_KEY', '--app', 'acme', '--organization', 'acme', '--dir', platformDir];
  expect(await runRemora(set, input)).toMatchObject({ code: 0, stderr: '' });
  const bought = { provider: 'kv', name: 'my-kv', app: 'acme', user_id: user.user_id };
  const made = await call({ method: 'POST', path: '/v1/extensions', body: bought });
  expect([made.status, made.json.state]).toEqual([201, 'ready']);
  expect(await tell({ id: made.json.provider_id, status: 'sleeping', zone: 'x' })).toBe(202);
  const access_token = await signOn();
  const service = { cmd: 'sh', args: ['-c', `${SHOW}; sleep 600 & wait`] };
  await put('web', service);
  await put('again', { ...service, restart_on_environment_change: true });
  await eventually(async () => (await log('web')).includes(both) && (await log('again')).includes(both));
  expect(await run()).toContain(both);
  expect(await runInTerminal()).toContain(both);
  expect((await call({ method: 'POST', path: '/v1/sprites/dev-1/checkpoint' })).status).toBe(200);
  const answers = await readEverything(all, access_token);
  const unread = ANSWERED.flatMap((each) => {
    const answer = answers.find(({ what }) => what === each);
    const isRead = answer !== undefined && answer.status >= 200 && answer.status < 400;
    return isRead ? [] : [`${each} ${answer?.status} ${answer?.bytes}`];
  });
  expect(unread).toEqual([]);
  expect(inAnswers(answers)).toEqual([]);
  expect(found()).toEqual([]);

  expect((await machine('POST', '/suspend')).status).toBe(200);
  expect((await machine('GET', '/wait?state=suspended')).status).toBe(200);
  expect(found()).toEqual([]);
  expect((await machine('POST', '/start')).status).toBe(200);
  await eventually(async () => (await run()).includes(both));

  program.install(NEWER);
  expect((await call({ method: 'POST', path: '/v1/sprites/dev-1/upgrade' })).json).toMatchObject({
    version_after: NEWER,
  });
  await eventually(async () => (await run()).includes(both));
  await platform.kill();
  expect(found()).toEqual([]);
  await platform.startAgain();
  await eventually(async () => (await run()).includes(both));
  expect((await call({ method: 'POST', path: '/v1/sprites/dev-1/restart' })).status).toBe(200);
  await eventually(async () => (await log('web')).split(both).length === 3);
  expect(found()).toEqual([]);

  expect((await call({ method: 'DELETE', path: '/v1/extensions/my-kv' })).status).toBe(204);
  expect((await call({ method: 'DELETE', path: '/v1/apps/acme/secrets/OWN_KEY' })).status).toBe(204);
  await eventually(async () => (await run()).includes(neither) && (await log('again')).includes(neither));
  await operate('user', 'delete', user.email);
  expect(provider.forged()).toBe(0);
  const whom = ['organization', 'operator', 'program'];
  expect(inAnswers(await readEverything(all, access_token, whom))).toEqual([]);
  expect(found()).toEqual([]);
}, 180_000);

test('the search finds what is planted, in each form, and wherever it is', async () => {
  const [canary, other] = [drawCanary(), `other-${drawCanary()}`];
  const search = new CanarySearch({ one: canary, other });
  const dir = tempDir();
  mkdirSync(join(dir, 'a', 'b'), { recursive: true });
  const forms = toForms(canary);
  expect(forms.length).toBeGreaterThanOrEqual(12);
  forms.forEach((form, at) => {
    writeFileSync(join(dir, 'a', 'b', `${at}`), Buffer.concat([Buffer.alloc(5_000, 7), form, Buffer.from([0])]));
  });
  writeFileSync(join(dir, 'clean'), canary.slice(1));
  expect(search.files(dir).toSorted()).toEqual(forms.map((_, at) => `one in a/b/${at}`).toSorted());
  for (let before = 0; before < 3; before += 1) {
    const text = `${'x'.repeat(before)}${canary}y`;
    for (const encoding of ['base64', 'base64url', 'hex'] as const) {
      for (const written of [text, JSON.stringify({ text })]) {
        expect(search.in(Buffer.from(written).toString(encoding)), `${before} ${encoding}`).toEqual(['one']);
      }
    }
  }

  const database = tempDir();
  const db = new Database(join(database, 'x.db'));
  db.pragma('journal_mode = WAL');
  db.exec('CREATE TABLE t (v TEXT)');
  db.prepare('INSERT INTO t VALUES (?)').run(other);
  expect(search.files(database)).toEqual(['other in x.db-wal']);
  db.close();
  expect(search.files(database)).toEqual(['other in x.db']);

  const start = (env: Readonly<Record<string, string>>, ...words: string[]) => {
    const child = spawn('sh', ['-c', 'sleep 600 & wait', ...words], {
      env: { PATH: process.env.PATH, ...env },
      detached: true,
    });
    const { pid } = child;
    if (pid !== undefined) atEnd(() => process.kill(-pid, 'SIGKILL'));
    return pid;
  };
  const own = start({ KEY: canary, REMORA_SERVICE: 'web' });
  const [told, named] = [start({ KEY: encodeURIComponent(canary) }), start({ REMORA_SERVICE: 'web' }, canary)];
  await eventually(() => search.processes().length >= 3);
  const found = search.processes().join('\n');
  expect(found).toContain(`one in the environment of ${told}`);
  expect(found).toContain(`one in the arguments of ${named}`);
  expect(found).not.toMatch(new RegExp(` of ${own}$`, 'm'));
});
