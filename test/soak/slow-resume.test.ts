// A machine whose resume takes 20 seconds answers those who have waited, each once; one that takes longer than requests are held answers those
// who try again.
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { openOnce } from '../support/at-end.ts';
import { eventually } from '../support/eventually.ts';
import { openPlayedPlatform } from '../support/played/played-platform.ts';

const opened = openOnce(() => openPlayedPlatform());
const HELD_MS = 30_000;

async function createSuspended(name: string, resume_ms: number) {
  let isFirst = true;
  const sprite = await opened().create(name, {
    async rising() {
      if (!isFirst) await sleep(resume_ms);
      isFirst = false;
    },
  });
  expect((await sprite.ask({ path: '/first' })).status).toBe(200);
  await opened().platform.admin.suspendMachine({ organization: 'acme', sprite: name });
  await eventually(async () => (await sprite.state()) === 'suspended');
  return sprite;
}

test('requests wait for a resume of 20 s, and are answered once', { timeout: 120_000 }, async () => {
  const sprite = await createSuspended('slow', 20_000);
  const begun_ms = performance.now();
  const paths = Array.from({ length: 20 }, (_, index) => `/${index}`);
  const answers = await Promise.all(paths.map((path) => sprite.ask({ path, method: 'POST', body: path })));
  expect(performance.now() - begun_ms).toBeGreaterThan(19_000);
  expect(answers.map(({ status }) => status)).toEqual(paths.map(() => 200));
  expect(sprite.heads.map((head) => head.split(' ', 2)[1]).sort()).toEqual(['/first', ...paths].sort());
  expect(sprite.starts()).toBe(2);
});

test('a resume of more than 30 s sends them away with the time to try again, and goes on', {
  timeout: 120_000,
}, async () => {
  const sprite = await createSuspended('slower', 34_000);
  const begun_ms = performance.now();
  const answer = await sprite.ask();
  expect([answer.status, answer.json.error, answer.headers['retry-after']]).toEqual([503, 'not_reachable', '5']);
  expect(performance.now() - begun_ms).toBeGreaterThan(HELD_MS - 1_000);
  expect([(await sprite.ask({ path: '/again' })).status, sprite.starts()]).toEqual([200, 2]);
});
