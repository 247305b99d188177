// The supervisor serves its rooms on one socket, and each is loaded by its first call.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { openSupervisor } from '../../src/supervisor/supervisor.ts';
import { ask } from '../support/ask.ts';
import { asRootAllowed, isRoot, ownUser } from '../support/serve-files.ts';
import { silentLog } from '../support/silent-log.ts';
import { tempDir } from '../support/temp-dir.ts';

it('files, with the errors of files, and root for the callers of whom the agent says so', async () => {
  const dir = tempDir();
  const [stateDir, socket] = [join(dir, 'state'), join(dir, 's')];
  mkdirSync(stateDir);
  const supervisor = await openSupervisor({
    socket,
    inherited: [],
    stateDir,
    user: ownUser(),
    baseEnv: {},
    log: silentLog,
    idle_ms: 60_000,
  });
  onTestFinished(() => supervisor[Symbol.asyncDispose]());
  writeFileSync(join(dir, 'x'), 'hello');
  const read = (query: string, headers = {}) =>
    ask(socket, { target: `/v1/fs/read?workingDir=${dir}&path=${query}`, headers });
  expect((await read('x')).text).toBe('hello');
  expect((await read('none')).json).toMatchObject({ error: 'not_found', code: 'ENOENT', path: `${dir}/none` });
  expect((await read('x&asRoot=true')).json).toMatchObject({ error: 'forbidden', code: 'EPERM' });
  expect((await read('x&asRoot=true', asRootAllowed)).status).toBe(isRoot ? 200 : 403);
  expect((await ask(socket, { target: '/v1/services' })).json).toEqual([]);
});
