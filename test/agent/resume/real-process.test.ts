import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { type LineChild, startChild } from '../../support/child-lines.ts';

const script = new URL('../../support/resume-watch-child.ts', import.meta.url).pathname;

async function startWatch(): Promise<LineChild> {
  const child = startChild(process.execPath, [script]);
  await child.line(/"ready"/);
  return child;
}

test('a process that is stopped for seconds finds that out, with SIGCONT as the proof', async () => {
  const child = await startWatch();
  const begun_ms = performance.now();
  await sleep(600);
  child.process.kill('SIGSTOP');
  await sleep(4_000);
  child.process.kill('SIGCONT');
  const found: unknown = JSON.parse(await child.line(/"certain"/));
  expect(found).toMatchObject({
    resume: { cause: 'process_stopped', certainty: 'certain', restores: 1, wall_skew_ms: 0 },
  });
  const { resume } = found as { resume: { gap_ms: number; signals: string[] } };
  expect(resume.gap_ms).toBeGreaterThan(3_500);
  expect(resume.gap_ms).toBeLessThan(performance.now() - begun_ms);
  expect(resume.signals).toContain('timer_gap');
});

test('a loop that is busy for three seconds is a stall and no resume', async () => {
  const child = await startWatch();
  child.say('block 3000');
  expect(JSON.parse(await child.line(/"stall"/))).toMatchObject({ type: 'stall' });
  child.say('look');
  await child.line(/"did".*"look"/);
  child.process.kill('SIGTERM');
  await child.ended;
  await expect(child.line(/"resume"/)).rejects.toThrow(/ended without/);
});
