// What the agent learns of processes from the supervisor's file and from the supervisor.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createProcessLink } from '../../../src/agent/process-link.ts';
import { SessionWatch } from '../../../src/agent/supervisor/session-watch.ts';
import { SESSIONS_FILE } from '../../../src/core/supervisor-wire.ts';
import { eventually } from '../../support/eventually.ts';
import { openExec, runExec, toExecQuery } from '../../support/exec-socket.ts';
import { startSupervisor, stateDirOf } from '../../support/supervisor-process.ts';
import { tempDir } from '../../support/temp-dir.ts';

function watch(stateDir: string, path: string) {
  let asked = 0;
  const link = createProcessLink({
    ...{ path, name: 'supervisor', logFile: 'no file' },
    start: async () => Promise.reject(new Error('nobody starts it')),
  });
  onTestFinished(() => link[Symbol.asyncDispose]());
  const open = async () => {
    asked += 1;
    return link;
  };
  return { watched: new SessionWatch({ stateDir, link: open }), asked: () => asked };
}

test('it asks while a process runs and not without one, and notices what came and went', async () => {
  const { dir, socket } = await startSupervisor();
  const { watched, asked } = watch(stateDirOf(dir), socket);
  await watched.look();
  await runExec(socket, ['true']);
  await watched.look();
  expect([watched.changes, asked(), watched.reading]).toEqual([1, 0, { type: 'seen', sessions: [] }]);
  const caller = await openExec(socket, `?${toExecQuery(['/bin/sleep', '60'])}`);
  await eventually(async () => {
    await watched.look();
    const { reading } = watched;
    return reading.type === 'seen' && reading.sessions.length === 1;
  });
  const running = { program: 'sleep', callers: 1, quiet_ms: null };
  expect(watched.reading).toMatchObject({ type: 'seen', sessions: [running] });
  caller.socket.terminate();
  await eventually(async () => {
    await watched.look();
    return JSON.stringify(watched.reading) === '{"type":"seen","sessions":[]}';
  });
});

test('a supervisor that does not answer is said to be one, and is not taken for one without processes', async () => {
  const dir = tempDir();
  const file = join(dir, SESSIONS_FILE);
  mkdirSync(dirname(file));
  writeFileSync(file, '1\n');
  const { watched } = watch(dir, join(dir, 'none.sock'));
  await watched.look();
  expect(watched.reading).toMatchObject({ type: 'failed' });
});
