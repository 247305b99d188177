// A disk that is full while a service prints, through the socket of the agent: the service runs on, and the log says how much it lacks.
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { ServiceResponse } from '../../../src/contract/services.ts';
import { signalProcess } from '../../../src/linux/processes/signal-process.ts';
import { startAgent } from '../../support/agent-process.ts';
import { eventually } from '../../support/eventually.ts';
import { loudly } from '../../support/loudly.ts';
import { findPids, readLogOf, stateDirOf, toEvents } from '../../support/supervisor-process.ts';
import { tempDir } from '../../support/temp-dir.ts';

/** Somebody else takes all but a little of the disk. */
const OTHER_BYTES = 900_000;

function mountSmall(path: string): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m,mode=755', 'none', path], { stdio: 'ignore' });
  } catch {
    return false;
  }
  onTestFinished(() => void execFileSync('umount', ['-l', path]));
  return true;
}

test('a service runs on while the disk is full, and every line is in the log or counted as lost', async ({ skip }) => {
  const dir = tempDir();
  const logs = join(stateDirOf(dir), 'logs');
  mkdirSync(logs, { recursive: true });
  if (loudly(!mountSmall(logs), 'a full disk below a log: no file system may be mounted here')) skip();
  onTestFinished(() => {
    for (const pid of findPids(join(dir, ''))) signalProcess(pid, 'SIGKILL');
  });
  const other = join(logs, 'other');
  writeFileSync(other, Buffer.alloc(OTHER_BYTES));
  const agent = await startAgent({ REMORA_USER: 'root' }, dir);
  // Many lines in one write, so that a part of them may find room.
  const script =
    'while (1) { syswrite STDOUT, join "", map { ++$i . " " . "x" x 900 . "\\n" } 1..40; select undef, undef, undef, 0.2 }';
  const body = JSON.stringify({ cmd: 'perl', args: ['-e', script] });
  const headers = { 'content-type': 'application/json' };
  await agent.ask({ method: 'PUT', target: '/v1/services/full?duration=0s', headers, body });
  const state = async () => ((await agent.get('/v1/services/full')).json as ServiceResponse).state;
  const { pid } = await eventually(async () => {
    const found = await state();
    return found?.status === 'running' && found;
  });
  const numbers = () =>
    readLogOf(dir, 'full')
      .split('\n')
      .slice(0, -1)
      .flatMap((line) => /\[stdout\] (\d+) x{900}$/.exec(line)?.[1] ?? [])
      .map(Number);
  // The file stands still, and what is printed goes on.
  await eventually(() => numbers().length > 50);
  const kept = await eventually(async () => {
    const before = numbers().length;
    const live = toEvents(await agent.get('/v1/services/full/logs?lines=0&duration=500ms'));
    return live.filter(({ type }) => type === 'stdout').length > 10 && numbers().length === before && before;
  });
  expect(
    toEvents(await agent.get('/v1/services/full/logs?lines=20')).filter(({ type }) => type === 'stdout'),
  ).toHaveLength(20);
  expect(await state()).toMatchObject({ status: 'running', pid });
  rmSync(other);
  await eventually(() => numbers().length > kept + 20);
  await agent.ask({ method: 'POST', target: '/v1/services/full/stop' });
  // Its last lines are written a moment after its end.
  const found = await eventually(() => {
    const lost = [...readLogOf(dir, 'full').matchAll(/\[error\] (\d+) lines were not written here: ENOSPC/g)];
    const kept = numbers();
    const missing = (kept.at(-1) ?? 0) - kept.length;
    return lost.length > 0 && lost.reduce((sum, [, count]) => sum + Number(count), 0) === missing && kept;
  });
  expect(found).toEqual([...new Set(found)].toSorted((a, b) => a - b));
});
