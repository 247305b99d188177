// Many requests at once to sprites that sleep, through the real door: the platform is a process of its own, its machines are played over real
// channels, and every request is answered exactly once.
import { expect, test } from 'vitest';
import { openOnce } from '../../support/at-end.ts';
import { eventually } from '../../support/eventually.ts';
import { runStorm } from '../../support/played/run-storm.ts';
import { openStorm, type StormAnswer } from '../../support/played/storm.ts';

const slow = Promise.withResolvers<void>();
const opened = openOnce(() => openStorm((sprite) => (sprite === 'slow' ? slow.promise : Promise.resolve())));

function groupByStatus(answers: readonly StormAnswer[]): Readonly<Record<string, readonly StormAnswer[]>> {
  return Object.groupBy(answers, ({ status }) => String(status)) as Record<string, StormAnswer[]>;
}

test('each of 500 requests to 50 suspended sprites is answered once, and each sprite is started once', async () => {
  await runStorm(opened(), { sprites: 50, requestsOfEach: 10, refusedAtMost: 0 });
});

test('where fewer may run than are asked for, those that start serve, and the others are refused with the limit', async () => {
  const { createOrganization, create, ask, arrivals, agents } = opened();
  const [limit, ofEach] = [4, 5];
  const names = Array.from({ length: 12 }, (_, index) => `l-${index}`);
  await createOrganization('small', limit);
  await create('small', names);
  const asked = names.flatMap((name) =>
    Array.from({ length: ofEach }, (_, index) => ({ name, path: `/${name}/${index}` })),
  );
  const answers = await Promise.all(asked.map(({ name, path }) => ask('small', name, path)));
  const { 200: served = [], 429: refused = [] } = groupByStatus(answers);
  expect([served.length, refused.length]).toEqual([limit * ofEach, (names.length - limit) * ofEach]);
  for (const { text, retryAfter } of refused) {
    expect(JSON.parse(text)).toMatchObject({ error: 'concurrent_sprite_limit_exceeded', limit, current_count: limit });
    expect(retryAfter).toBe('30');
  }
  const came = asked.map(({ path }) => arrivals.get(path) ?? 0);
  expect(came).toEqual(answers.map(({ status }) => (status === 200 ? 1 : 0)));
  expect(names.filter((name) => agents.starts.get(name) === 1)).toHaveLength(limit);
});

test('more requests than may wait for one machine are refused at once, and the others are answered', async () => {
  const { create, createOrganization, ask, arrivals, agents } = opened();
  await createOrganization('narrow');
  await create('narrow', ['slow']);
  const paths = Array.from({ length: 520 }, (_, index) => `/slow/${index}`);
  let early = 0;
  const asking = paths.map(async (path) => {
    const answer = await ask('narrow', 'slow', path);
    early += 1;
    return answer;
  });
  await eventually(() => early === 8);
  slow.resolve();
  const answers = await Promise.all(asking);
  const { 200: served = [], 503: refused = [] } = groupByStatus(answers);
  expect([served.length, refused.length]).toEqual([512, 8]);
  for (const { text, retryAfter } of refused) {
    expect([JSON.parse(text).error, retryAfter]).toEqual(['not_reachable', '5']);
  }
  expect(paths.filter((path) => arrivals.get(path) === 1)).toHaveLength(512);
  expect(agents.starts.get('slow')).toBe(1);
});
