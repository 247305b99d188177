// A network policy that comes over the channel: the real agent starts what enforces it, in a machine whose platform is in the world outside.
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { digestRules } from '../../src/core/network-policy/digest-rules.ts';
import { startAgent } from '../support/agent-process.ts';
import { openOnce } from '../support/at-end.ts';
import { eventually } from '../support/eventually.ts';
import { startClient } from '../support/network/line-client.ts';
import { enforcersOf, killEnforcers, openAgentWorld } from '../support/network-agent-world.ts';
import { isWithoutNetworks, NAME_SERVER } from '../support/network-world.ts';
import { copyProgram } from '../support/program-copy.ts';
import { signalRunning } from '../support/signal-running.ts';
import { tempDir } from '../support/temp-dir.ts';

const allow = (domain: string) => ({ action: 'allow' as const, domain });
const deny = (domain: string) => ({ action: 'deny' as const, domain });
const CURL = ['curl', '-sS', '-m', '30', '--noproxy', '*'];
const REFUSED = 7;
const NOT_RESOLVED = 6;
const PAUSE_MS = 200;
type Get = Awaited<ReturnType<typeof openAgentWorld>>['get'];
const partOf = async (get: Get) => (await get('/v1/status')).json.parts.network;
describe.skipIf(isWithoutNetworks())('with an agent that may enforce a network policy', () => {
  const opened = openOnce(openAgentWorld);
  const older = openOnce(async () => {
    const program = copyProgram();
    program.install('0.0.1');
    return program;
  });
  const curl = (...words: string[]) => opened().world.run([...CURL, '-o', '/dev/null', ...words]).status;
  /** Resolves when another process than `before` resolves names. */
  const isReplaced = (before: number) =>
    eventually(() => {
      const [pid = before, ...others] = enforcersOf(opened().world);
      return pid !== before && others.length === 0 && curl('http://a.example/') === 0;
    });
  const put = (...rules: object[]) => opened().overChannel('PUT', '/v1/policy/network', { rules });

  test('nothing runs beside it until something is restricted', async () => {
    const { start, get, world } = opened();
    await start(undefined, older().path);
    expect((await get('/v1/status')).json.parts.network).toMatchObject({ state: 'ok' });
    expect((await get('/v1/policy/network')).json).toEqual({ rules: [] });
    expect((await get('/v1/policy/network/refused')).json).toEqual({ refused: [] });
    expect(enforcersOf(world)).toEqual([]);
  });

  test('rules that come over the channel hold when it is answered, and the agent’s own connections go on', async () => {
    const { dir, get, post, overChannel, world } = opened();
    const rules = [allow('a.example')];
    const { opened: before } = await overChannel('GET', '/v1/policy/network');
    expect(await put(...rules)).toMatchObject({ status: 200, json: { rules }, opened: before });
    expect([curl('http://a.example/'), curl('http://b.example/'), curl('http://93.184.0.2/')]).toEqual([
      0,
      NOT_RESOLVED,
      REFUSED,
    ]);
    expect(await overChannel('GET', '/v1/policy/network')).toMatchObject({ json: { rules }, opened: before });
    expect((await get('/v1/policy/network')).json).toEqual({ rules });
    const shown = join(dir, 'run', 'network-policy.json');
    expect(JSON.parse(readFileSync(shown, 'utf8'))).toEqual({ rules });
    expect(statSync(shown).mode & 0o777).toBe(0o444);
    expect(await post('/v1/policy/network/explain', { host: 'b.example' })).toMatchObject({
      status: 200,
      json: { decision: 'deny' },
    });
    expect((await post('/v1/policy/network/explain', { host: 'a b' })).status).toBe(400);
    const { refused } = (await get('/v1/policy/network/refused')).json;
    expect(refused).toContainEqual(expect.objectContaining({ kind: 'name', name: 'b.example' }));
    expect(await put(deny('a.*.b'))).toMatchObject({ status: 400, json: { error: 'invalid_request' } });
    expect((await get('/v1/policy/network')).json).toEqual({ rules });
    const [pid = 0] = enforcersOf(world);
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    expect(status).toMatch(/^Uid:\s+[1-9]/m);
    // CAP_DAC_READ_SEARCH, CAP_NET_ADMIN and, where the agent has them, CAP_SYS_PTRACE, CAP_PERFMON and CAP_BPF.
    const bound = BigInt(`0x${/^CapBnd:\s*([0-9a-f]+)$/m.exec(status)?.[1]}`);
    expect(bound & ~((1n << 19n) | (1n << 38n) | (1n << 39n))).toBe(0x1004n);
  });

  test('an agent of another version has what enforces the rules started again as its own, and nothing is open meanwhile', async () => {
    const { dir, end, start, overChannel, world } = opened();
    await put(deny('*'), allow('a.example'));
    const [before = 0] = enforcersOf(world);
    await end();
    const tried = join(dir, 'tried');
    const trying = world.start([
      ...['sh', '-c', 'while :; do "$@"; echo $? >> "$0"; sleep 0.02; done', tried],
      ...[...CURL, '-o', '/dev/null', 'http://93.184.0.2/'],
    ]);
    const statusesOf = () => (existsSync(tried) ? readFileSync(tried, 'utf8').trim().split('\n') : []);
    await eventually(() => statusesOf().length > 5);
    await start();
    await isReplaced(before);
    const replaced = statusesOf().length;
    await eventually(() => statusesOf().length > replaced + 5);
    trying.kill('SIGKILL');
    const statuses = statusesOf();
    expect(statuses.length).toBeGreaterThan(10);
    expect(new Set(statuses)).toEqual(new Set([`${REFUSED}`]));
    expect((await overChannel('GET', '/v1/policy/network')).json).toEqual({ rules: [deny('*'), allow('a.example')] });
    expect(curl('http://b.example/')).toBe(NOT_RESOLVED);
  });

  test('what enforces the rules is started again when it was killed, which is said; names are REFUSED meanwhile', async () => {
    const { dir, log, world } = opened();
    await put(allow('a.example'));
    const [before = 0] = enforcersOf(world);
    const rules = () => world.run(['nft', 'list', 'chain', 'inet', 'remora_network', 'names']).stdout;
    const led = rules();
    expect(led).toMatch(/redirect to :\d+/);
    const dig = (...words: string[]) => world.run(['dig', '+tries=1', '+time=20', ...words]).stdout;
    const statusOf = (answer: string) => /status: (\w+)/.exec(answer)?.[1];
    const script = new URL('../support/network/kept-question.py', import.meta.url).pathname;
    const ask = startClient(world, ['python3', '-u', script, NAME_SERVER, 'a.example']);
    const [NOERROR, REFUSED_NAME] = ['0', '5'];
    expect(await ask('')).toBe(NOERROR);
    // Who is called in its place takes calls and answers none, so that the agent does not start another one yet.
    const path = join(dir, 'run', 'network', 'network.sock');
    renameSync(path, `${path}.aside`);
    const calls = new Set<Socket>();
    const silent = createServer((call) => void calls.add(call.on('error', () => undefined)));
    silent.listen(path);
    await once(silent, 'listening');
    signalRunning(before, 'SIGKILL');
    await eventually(() => statusOf(dig('a.example')) === 'REFUSED');
    const answers = [
      dig('a.example'),
      dig('+tcp', 'a.example'),
      dig('away.example', '@8.8.8.8'),
      dig('AAAA', 'away.example', '@2001:4860:4860::8888'),
      dig('+tcp', 'away.example', '@2001:4860:4860::8888'),
    ];
    expect(answers.map(statusOf)).toEqual(Array(5).fill('REFUSED'));
    for (const answer of answers) expect(answer).toContain('is being started again');
    expect(await ask('')).toBe(REFUSED_NAME);
    expect(curl('http://93.184.0.2/')).toBe(REFUSED);
    const closed = new Promise((resolve) => silent.close(resolve));
    for (const call of calls) call.destroy();
    await closed;
    await isReplaced(before);
    await eventually(() => log().includes('what enforces the network policy had ended and is started again'));
    expect(rules()).toBe(led);
    expect(await ask('')).toBe(NOERROR);
    expect(statusOf(dig('+tcp', 'a.example'))).toBe('NOERROR');
    expect(curl('http://b.example/')).toBe(NOT_RESOLVED);
    expect(world.asked()).not.toContain('away.example');
  });

  test('after a boot, whose kernel knows no rules, they hold before anything else runs', async () => {
    const { dir, end, start, get, world } = opened();
    await put(deny('*'));
    await end();
    await killEnforcers(world);
    expect(curl('http://93.184.0.2/')).toBe(REFUSED);
    expect(world.run(['nft', 'flush', 'ruleset']).status).toBe(0);
    rmSync(join(dir, 'run', 'network'), { recursive: true });
    await start();
    // The supervisor serves this one: it is not asked before the rules hold.
    expect((await get('/v1/services')).status).toBe(200);
    expect(curl('http://93.184.0.2/')).toBe(REFUSED);
  });

  test('what is not restricted any more is open, and an agent that may not enforce says what is missing', async () => {
    const { dir, end, start, get, world } = opened();
    expect((await put()).json).toEqual({ rules: [] });
    expect(curl('http://93.184.0.2/')).toBe(0);
    expect(existsSync(join(dir, 'state', 'network-policy.json'))).toBe(false);
    await end();
    await killEnforcers(world);
    rmSync(join(dir, 'run', 'network'), { recursive: true });
    await start({});
    const refusal = {
      error: 'not_supported',
      details: { missing: expect.stringContaining('REMORA_NETWORK_POLICY') },
    };
    expect(await put(deny('*'))).toMatchObject({ status: 501, json: refusal });
    expect(await put()).toMatchObject({ status: 200, json: { rules: [] } });
    expect((await get('/v1/status')).json.parts.network).toMatchObject({
      state: 'off',
      reason: expect.stringContaining('REMORA_NETWORK_POLICY'),
    });
    expect(curl('http://93.184.0.2/')).toBe(0);
  });

  test('who waits for a policy that cannot be enforced then is told so', async () => {
    const { dir, end, start, get, overChannel } = opened();
    await end();
    // What serves here is gone when the policy comes.
    const served = join(dir, 'run', 'network');
    mkdirSync(served, { recursive: true });
    writeFileSync(join(served, 'network.sock'), '');
    const rules = [allow('a.example')];
    await start({ REMORA_NETWORK_RULES: digestRules(rules) });
    await eventually(async () => (await partOf(get)).reason?.startsWith('nothing runs before the platform'));
    const services = get('/v1/services');
    expect(await Promise.race([services, sleep(PAUSE_MS, 'nothing')])).toBe('nothing');
    rmSync(served, { recursive: true });
    const brought = await overChannel('PUT', '/v1/policy/network', { rules, stored: true });
    expect(brought).toMatchObject({ status: 501, json: { error: 'not_supported' } });
    const refusal = { error: 'start_failed', message: expect.stringContaining('REMORA_NETWORK_POLICY') };
    expect(await services).toMatchObject({ status: 504, json: refusal });
    expect(await get('/v1/services')).toMatchObject({ status: 504, json: refusal });
  });

  test('with a disk older than its policy a machine runs nothing until the platform has brought it', async () => {
    const { end, start, get } = opened();
    await end();
    const rules = [allow('a.example')];
    const env = { REMORA_NETWORK_POLICY: 'true', REMORA_NETWORK_RULES: digestRules(rules) };
    await start(env);
    const services = get('/v1/services');
    const part = () => partOf(get);
    await eventually(async () => (await part()).reason?.startsWith('nothing runs before the platform'));
    expect(await Promise.race([services, sleep(PAUSE_MS, 'nothing')])).toBe('nothing');
    expect((await put(...rules)).status).toBe(200);
    expect((await services).status).toBe(200);
    expect(await part()).toMatchObject({ state: 'ok' });
    // The platform has said since the boot what holds, and may have changed it.
    await put(deny('*'));
    await end();
    await start(env);
    expect((await get('/v1/services')).status).toBe(200);
    expect(curl('http://93.184.0.2/')).toBe(REFUSED);
  });
});

test('where what held cannot be enforced again, nothing runs', async () => {
  const dir = tempDir();
  mkdirSync(join(dir, 'state'), { mode: 0o700 });
  writeFileSync(join(dir, 'state', 'network-policy.json'), JSON.stringify({ rules: [deny('*')] }), { mode: 0o600 });
  const agent = await startAgent({ REMORA_USER: String(process.getuid?.() ?? 0) }, dir);
  expect(await agent.get('/v1/services')).toMatchObject({
    status: 504,
    json: { error: 'start_failed', message: expect.stringContaining('REMORA_NETWORK_POLICY') },
  });
  expect((await agent.get('/v1/status')).json).toMatchObject({ parts: { network: { state: 'failed' } } });
});
