import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { startChild } from '../support/child-lines.ts';

const script = new URL('../support/resume-watch-child.ts', import.meta.url).pathname;

test('a stop of twelve seconds is one resume each time', async () => {
  const child = startChild(process.execPath, [script]);
  await child.line(/"ready"/);
  for (let round = 0; round < 3; round += 1) {
    await sleep(3_000);
    child.process.kill('SIGSTOP');
    await sleep(12_000);
    child.process.kill('SIGCONT');
    const found: unknown = JSON.parse(await child.line(/"type":"resume"/));
    expect(found).toMatchObject({ resume: { cause: 'process_stopped', restores: 1 } });
  }
  await sleep(10_000);
  child.process.kill('SIGTERM');
  await child.ended;
  await expect(child.line(/"type":"(?:resume|again)"/)).rejects.toThrow(/ended without/);
});
