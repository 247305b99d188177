// The supervisor as a process: who may run it, when it ends by itself, and what it does with damaged definitions.
import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { toServicesFile } from '../../src/supervisor/services/service-store.ts';
import { openSupervisor } from '../../src/supervisor/supervisor.ts';
import { ask } from '../support/ask.ts';
import { remoraPath } from '../support/run-remora.ts';
import { silentLog } from '../support/silent-log.ts';
import { tempDir } from '../support/temp-dir.ts';

async function open(dir = tempDir(), idle_ms = 200) {
  const { uid, gid, username } = userInfo();
  const supervisor = await openSupervisor({
    socket: join(dir, 's.sock'),
    inherited: [],
    stateDir: join(dir, 'state'),
    user: { name: username, uid, gid, home: dir, shell: '/bin/sh' },
    baseEnv: { PATH: process.env.PATH ?? '' },
    log: silentLog,
    idle_ms,
  });
  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= Promise.resolve(supervisor[Symbol.asyncDispose]());
    return closing;
  };
  onTestFinished(close);
  const call = (method: string, target: string, body?: object) =>
    ask(join(dir, 's.sock'), {
      method,
      target,
      headers: body === undefined ? {} : { 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  return { supervisor, dir, call, close };
}

test('it ends when nothing was asked and nothing runs, and not before', async () => {
  const { supervisor, call } = await open(tempDir(), 600);
  let isIdle = false;
  void supervisor.idle.then(() => {
    isIdle = true;
  });
  const body = { cmd: 'sleep', args: ['60'] };
  expect((await call('PUT', '/v1/services/web?duration=0', body)).status).toBe(200);
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  expect(isIdle).toBe(false);
  expect((await call('DELETE', '/v1/services/web')).status).toBe(204);
  await supervisor.idle;
});

test('damaged definitions are named and kept, and every call says so', async () => {
  const dir = tempDir();
  const path = toServicesFile(join(dir, 'state'));
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, '{"version":1,"services":[{"name":"web","request":{"env":{"A":"hunter2"}}}]}');
  const { call } = await open(dir);
  const answer = await call('GET', '/v1/services');
  expect([answer.status, answer.text]).toEqual([500, expect.stringContaining(`${path} is damaged`)]);
  expect(answer.text).not.toContain('hunter2');
});

test('a user is named under root', async () => {
  const run = promisify(execFile)(
    process.execPath,
    [remoraPath, 'supervisor', '--socket', '/nowhere/s', '--state-dir', '/nowhere'],
    {
      env: { PATH: process.env.PATH ?? '' },
    },
  );
  const failure = await run.catch((error: { code: number; stderr: string }) => error);
  if (process.geteuid?.() === 0) expect(failure).toMatchObject({ code: 2, stderr: expect.stringContaining('--user') });
});
