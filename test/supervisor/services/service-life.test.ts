// Services through the socket of a real supervisor: they start, print, crash, stop, and nothing of them is left.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { signalRunning } from '../../support/signal-running.ts';
import { findPids, logFileOf, readLogOf, startSupervisor, toEvents } from '../../support/supervisor-process.ts';

const sh = (script: string, more: object = {}) => ({ cmd: 'sh', args: ['-c', script], ...more });

test('a service is defined, followed, listed without its variables, stopped and deleted; its log stays', async () => {
  const supervisor = await startSupervisor();
  const script = 'echo "out $GREETING"; echo err >&2; sleep 60';
  const put = await supervisor.put('web', sh(script, { env: { GREETING: 'hunter2' } }), '?duration=3s');
  expect(put.status).toBe(200);
  expect(put.headers).toMatchObject({ 'cache-control': 'no-cache', 'x-content-type-options': 'nosniff' });
  const path = logFileOf(supervisor.dir, 'web');
  const timestamp = expect.any(Number);
  const events = toEvents(put);
  expect(events[0]).toEqual({ type: 'started', timestamp });
  expect(events).toContainEqual({ type: 'stdout', data: 'out hunter2', timestamp });
  expect(events).toContainEqual({ type: 'stderr', data: 'err', timestamp });
  expect(events.at(-1)).toEqual({
    type: 'complete',
    timestamp,
    log_files: { combined: path, stdout: path, stderr: path },
  });

  const service = await supervisor.read('web');
  expect(service).toMatchObject({ name: 'web', cmd: 'sh', needs: [], state: { name: 'web', status: 'running' } });
  expect(service.state?.pid).toBeGreaterThan(1);
  const list = await supervisor.ask({ target: '/v1/services' });
  expect(list.json).toEqual([service]);
  expect(list.text).not.toContain('hunter2');

  const stop = await supervisor.post('web/stop');
  expect(toEvents(stop).map(({ type }) => type)).toEqual(['stopping', 'stopped', 'complete']);
  expect(toEvents(stop)[1]).toMatchObject({ exit_code: 143 });
  expect((await supervisor.read('web')).state).toEqual({ name: 'web', status: 'stopped', restart_count: 0 });
  expect((await supervisor.post('web/stop')).status).toBe(409);

  expect((await supervisor.ask({ method: 'DELETE', target: '/v1/services/web' })).status).toBe(204);
  expect((await supervisor.ask({ target: '/v1/services/web' })).status).toBe(404);
  expect(readFileSync(path, 'utf8')).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z \[stderr\] err$/m);
  expect(supervisor.log()).not.toContain('hunter2');
});

test('a service that ends is started again, later each time, and says why it is down', async () => {
  const supervisor = await startSupervisor();
  const put = await supervisor.put('job', sh('echo once; exit 3'), '?duration=5s');
  const events = toEvents(put);
  expect(events.map(({ type }) => type).slice(0, 5)).toEqual(['started', 'stdout', 'exit', 'started', 'stdout']);
  expect(events[2]).toMatchObject({ exit_code: 3 });
  const failed = await eventually(async () => {
    const { state } = await supervisor.read('job');
    return state?.status === 'failed' && state;
  });
  expect(failed).toMatchObject({ error: 'it ended with exit code 3', next_restart_at: expect.any(String) });
  expect(failed.restart_count).toBeGreaterThan(0);
  expect(failed.pid).toBeUndefined();
});

test('a program that does not exist is an error of the stream and of the state, which names it', async () => {
  const supervisor = await startSupervisor();
  const put = await supervisor.put('ghost', { cmd: 'no-such-program' });
  expect(toEvents(put)[0]).toMatchObject({ type: 'error', data: 'there is no program no-such-program in PATH' });
  const { state } = await supervisor.read('ghost');
  expect(state).toMatchObject({ status: 'failed', error: 'there is no program no-such-program in PATH' });
  await eventually(() => readLogOf(supervisor.dir, 'ghost').includes('[error] there is no program'));
});

test('stopping ends every process, also those that moved to sessions of their own and ignore SIGTERM', async () => {
  const supervisor = await startSupervisor();
  const mark = `mark-${process.pid}-${Date.now()}`;
  const script = `setsid setsid sh -c 'trap "" TERM; exec sleep 61' ${mark} & trap "" TERM; sleep 62 & sleep 63 & wait; wait`;
  await supervisor.put('tree', sh(script, { env: { MARK: mark } }), '?duration=1s');
  await eventually(() => findPids(`MARK=${mark}`).length >= 4);
  const stop = await supervisor.post('tree/stop?timeout=300ms');
  expect(toEvents(stop).find(({ type }) => type === 'stopped')).toMatchObject({ exit_code: 137 });
  expect(findPids(`MARK=${mark}`)).toEqual([]);
});

test('replacing a running service stops the old process and runs the new one', async () => {
  const supervisor = await startSupervisor();
  await supervisor.put('web', sh('echo one; exec sleep 60'));
  const put = await supervisor.put('web', sh('echo two; exec sleep 60'), '?duration=2s');
  const types = toEvents(put).map((event) => (event.type === 'stdout' ? event.data : event.type));
  expect(types.filter((type) => type !== 'one')).toEqual(['stopping', 'stopped', 'started', 'two', 'complete']);
  const restart = await supervisor.post('web/restart?duration=1.5');
  const again = toEvents(restart).map((event) => (event.type === 'stdout' ? event.data : event.type));
  expect(again).toEqual(['stopping', 'stopped', 'started', 'two', 'complete']);
});

test('a signal reaches the process; unknown ones, unknown services and stopped ones are told apart', async () => {
  const supervisor = await startSupervisor();
  await supervisor.put('web', sh('trap "echo hup" HUP; echo ready; while :; do sleep 0.05; done'));
  await eventually(() => readLogOf(supervisor.dir, 'web').includes('ready'));
  const signal = (name: string, text: string) => supervisor.post('signal', { name, signal: text });
  expect((await signal('web', 'SIGHUP')).status).toBe(204);
  await eventually(() => readLogOf(supervisor.dir, 'web').includes('hup'));
  expect((await signal('web', 'SIGNONE')).status).toBe(400);
  expect((await signal('none', 'SIGHUP')).status).toBe(404);
  await supervisor.post('web/stop');
  const refused = await signal('web', 'SIGHUP');
  expect([refused.status, refused.json]).toMatchObject([409, { error: 'invalid_state' }]);
});

test('a signal to a service that waits for what it needs reaches the process that it gets', async () => {
  const supervisor = await startSupervisor();
  await supervisor.put('base', { cmd: 'sleep', args: ['60'] }, '?duration=0');
  await supervisor.put('web', { cmd: 'sleep', args: ['60'], needs: ['base'] }, '?duration=0');
  expect((await supervisor.read('web')).state).not.toHaveProperty('pid');
  expect((await supervisor.post('signal', { name: 'web', signal: 'SIGKILL' })).status).toBe(204);
  await eventually(async () => (await supervisor.read('web')).state?.restart_count === 1);
  await supervisor.put('bad', { cmd: '/no/such/program', needs: ['base'] }, '?duration=0');
  expect((await supervisor.post('signal', { name: 'bad', signal: 'SIGHUP' })).json).toMatchObject({
    error: 'invalid_state',
  });
});

test('a killed process is a crash', async () => {
  const supervisor = await startSupervisor();
  await supervisor.put('web', { cmd: 'sleep', args: ['60'] });
  // The answer comes while it starts.
  const before = await eventually(async () => (await supervisor.read('web')).state?.pid);
  signalRunning(before, 'SIGKILL');
  const after = await eventually(async () => {
    const { state } = await supervisor.read('web');
    return state?.pid !== undefined && state.pid !== before && state;
  });
  expect(after.restart_count).toBe(1);
});
