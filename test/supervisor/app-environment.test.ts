// The secrets of an app in the real supervisor, played by an agent of the test: who gets them, who waits for them, and where they are not.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { APP_SECRETS_FILE } from '../../src/core/supervisor-wire.ts';
import { makeDirectory } from '../../src/linux/make-directory.ts';
import { AppEnvironment, isStale, toPlain } from '../../src/supervisor/environment/app-environment.ts';
import { eventually } from '../support/eventually.ts';
import { openExec, runExec, toExecQuery } from '../support/exec-socket.ts';
import { loudly } from '../support/loudly.ts';
import { readLogOf, type SupervisorProcess, startSupervisor, stateDirOf } from '../support/supervisor-process.ts';
import { tempDir } from '../support/temp-dir.ts';

function note(dir: string, text: string): void {
  const path = join(stateDirOf(dir), APP_SECRETS_FILE);
  makeDirectory(join(path, '..'), 0o700);
  writeFileSync(path, text);
}

function push({ ask }: Pick<SupervisorProcess, 'ask'>, update: object) {
  const headers = { 'content-type': 'application/json' };
  return ask({ method: 'PUT', target: '/v1/app-environment', headers, body: JSON.stringify(update) });
}

const known = (secrets: Readonly<Record<string, string>>) => ({
  type: 'known',
  secrets: Object.entries(secrets).map(([name, value]) => ({ name, value })),
});
const service = { cmd: 'sh', args: ['-c', 'echo "has:$KEY:$TZ"; sleep 600'] };

test('a supervisor that was killed starts its services once it has the secrets again, and not before', async () => {
  const dir = tempDir();
  note(dir, 'some');
  const first = await startSupervisor({ dir });
  expect((await push(first, known({ KEY: 'the-first', TZ: 'Asia/Tokyo' }))).status).toBe(204);
  await first.put('web', service);
  await eventually(() => readLogOf(dir, 'web').includes('has:the-first:Asia/Tokyo'));
  await first.kill();
  const second = await startSupervisor({ dir });
  await eventually(async () => (await second.read('web')).state?.status === 'starting');
  await push(second, { type: 'unknown', reason: 'the platform is away' });
  const failed = await eventually(async () => {
    const { state } = await second.read('web');
    return state?.status === 'failed' && state;
  });
  expect(failed.error).toContain('the platform is away');
  const refused = await runExec(second.socket, ['true']).catch(String);
  expect(refused).toContain('503');
  await push(second, known({ KEY: 'the-second' }));
  await eventually(() => readLogOf(dir, 'web').includes('has:the-second:'));
  expect(readLogOf(dir, 'web').match(/has:/g)).toHaveLength(2);
  for (const file of ['environ', 'cmdline']) {
    expect(readFileSync(`/proc/${second.child.pid}/${file}`, 'latin1')).not.toMatch(/the-first|the-second/);
  }
  await push(second, { type: 'withheld', reason: 'another copy is served' });
  expect(await runExec(second.socket, ['true']).catch(String)).toContain('503');
});

test('a change starts a service again where its definition says so, and none that was stopped by hand', async () => {
  const dir = tempDir();
  const supervisor = await startSupervisor({ dir });
  await push(supervisor, known({ KEY: 'one' }));
  const again = { ...service, restart_on_environment_change: true };
  await Promise.all([
    supervisor.put('kept', service),
    supervisor.put('again', again),
    supervisor.put('stopped', again),
    supervisor.put('own', { ...again, env: { KEY: 'own' } }),
  ]);
  for (const name of ['kept', 'again', 'stopped']) await eventually(() => readLogOf(dir, name).includes('has:one'));
  await eventually(() => readLogOf(dir, 'own').includes('has:own'));
  await supervisor.post('stopped/stop');
  await eventually(async () => (await supervisor.read('stopped')).state?.status === 'stopped');
  const pidOf = async (name: string) => (await supervisor.read(name)).state?.pid;
  const before = [await pidOf('kept'), await pidOf('own')];
  await push(supervisor, known({ KEY: 'two' }));
  await eventually(() => readLogOf(dir, 'again').includes('has:two'));
  expect([await pidOf('kept'), await pidOf('own')]).toEqual(before);
  expect((await supervisor.read('kept')).state?.stale_environment).toBe(true);
  expect((await supervisor.read('own')).state).not.toHaveProperty('stale_environment');
  expect((await supervisor.read('stopped')).state?.status).toBe('stopped');
  await eventually(async () => (await supervisor.read('again')).state?.status === 'running');
  expect((await supervisor.read('again')).state).not.toHaveProperty('stale_environment');
  // The same values again are no change.
  const pid = await pidOf('again');
  await push(supervisor, known({ KEY: 'two' }));
  await push(supervisor, { type: 'unknown', reason: 'the platform is away' });
  expect(await pidOf('again')).toBe(pid);
  for (const name of ['kept', 'again', 'own']) {
    expect(readLogOf(dir, name).match(/has:/g)).toHaveLength(name === 'again' ? 2 : 1);
  }
});

test('a supervisor whose agent sends nothing, or whose app had nothing, starts programs', async () => {
  const dir = tempDir();
  const supervisor = await startSupervisor({ dir });
  expect((await runExec(supervisor.socket, ['sh', '-c', 'echo "$KEY"'])).stdout).toBe('\n');
  note(dir, 'none');
  await push(supervisor, { type: 'unknown', reason: 'the platform is away' });
  expect((await runExec(supervisor.socket, ['sh', '-c', 'echo "$KEY"'])).stdout).toBe('\n');
  note(dir, 'some');
  expect(await runExec(supervisor.socket, ['true']).catch(String)).toContain('503');
});

const long = Object.fromEntries(Array.from({ length: 4 }, (_, at) => [`K${at}`, `'${'ä'.repeat(32_000)}`]));
const COUNT = 'printf %s "$K0$K1$K2$K3" | wc -c';

test('a program gets as many and as long ones as an app may have', async () => {
  const supervisor = await startSupervisor();
  await push(supervisor, known(long));
  expect((await runExec(supervisor.socket, ['sh', '-c', COUNT])).stdout.trim()).toBe(String(4 * 64_001));
});

test.skipIf(loudly(process.geteuid?.() !== 0, 'secrets in a terminal of another user: this is not root'))(
  'so does one in a terminal of another user, and what brings them there is gone',
  async () => {
    const supervisor = await startSupervisor({ user: 'nobody' });
    await push(supervisor, known(long));
    const command = `${COUNT}; env | grep -c REMORA_VARIABLES`;
    const caller = await openExec(supervisor.socket, `?${toExecQuery(['sh', '-c', command], { tty: 'true' })}`);
    await caller.closed;
    expect(caller.messages.join('')).toContain(`${4 * 64_001}\r\n0\r\n`);
  },
);

test('an own variable goes before a secret, and what it hides makes nothing stale', async () => {
  const dir = tempDir();
  const supervisor = await startSupervisor({ dir });
  await push(supervisor, known({ KEY: 'secret', TZ: 'UTC' }));
  const own = await runExec(supervisor.socket, ['sh', '-c', 'echo "$KEY:$TZ"'], { env: 'KEY=own' });
  expect(own.stdout).toBe('own:UTC\n');
  const at = (secrets: Readonly<Record<string, string>>) => {
    const environment = new AppEnvironment({ stateDir: dir });
    environment.set({ type: 'known', secrets: Object.entries(secrets).map(([name, value]) => ({ name, value })) });
    return environment.variables ?? new Map();
  };
  const [one, two, none] = [at({ A: '1', B: '1' }), at({ A: '2', B: '1' }), at({})];
  expect([isStale(one, one), isStale(one, at({ B: '1', A: '1' })), isStale(one, two)]).toEqual([false, false, true]);
  expect([isStale(one, two, { A: 'x' }), isStale(one, none, { A: 'x' }), isStale(none, one)]).toEqual([
    false,
    true,
    true,
  ]);
  expect(toPlain(one)).toEqual({ A: '1', B: '1' });
  expect(JSON.stringify([...one])).not.toContain('1');
});

test('a start that waits for secrets is given them when they come, and ends with its caller', async () => {
  const dir = tempDir();
  note(dir, 'unknown');
  const environment = new AppEnvironment({ stateDir: stateDirOf(dir), wait_ms: 60_000 });
  const waiting = environment.ready();
  const gone = new AbortController();
  const left = environment.ready(gone.signal);
  gone.abort(new Error('gone'));
  await expect(left).rejects.toThrow('gone');
  environment.set({ type: 'known', secrets: [{ name: 'KEY', value: 'v' }] });
  expect(toPlain(await waiting)).toEqual({ KEY: 'v' });
  const late = new AppEnvironment({ stateDir: stateDirOf(dir), wait_ms: 1 });
  await expect(late.ready()).rejects.toMatchObject({ code: 'secrets_unavailable' });
  environment.set({ type: 'unknown', reason: 'away' });
  expect(toPlain(await environment.ready())).toEqual({ KEY: 'v' });
});
