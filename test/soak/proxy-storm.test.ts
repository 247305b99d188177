// 10,000 requests at once to 1,000 sprites that sleep.
import { test } from 'vitest';
import { openOnce } from '../support/at-end.ts';
import { runStorm } from '../support/played/run-storm.ts';
import { openStorm } from '../support/played/storm.ts';

const opened = openOnce(openStorm);

test('each of 10,000 requests to 1,000 suspended sprites is answered once, and each sprite is started once', async () => {
  const { measured, ...times } = await runStorm(opened(), { sprites: 1_000, requestsOfEach: 10, refusedAtMost: 1_000 });
  console.log({ ...times, ...measured });
});
