// Requests to sleeping sprites all at once, while another organization goes on: each is answered once by its own machine, which is started
// once.
import { expect } from 'vitest';
import type { Measured } from './platform-child.ts';
import type { Storm, StormAnswer } from './storm.ts';

export interface StormSize {
  readonly sprites: number;
  readonly requestsOfEach: number;
  /** How many requests may be sent away with the time to try again: a host with other work may not start all machines in time. */
  readonly refusedAtMost: number;
}

export interface StormReport {
  readonly longest_ms: number;
  readonly refused: number;
  /** Requests of the other organization, whose sprite runs, that followed each other meanwhile. */
  readonly calm: number;
  readonly longestCalm_ms: number;
  readonly measured: Measured;
}

/** What a request and its connection may cost while they are open, beside what the platform takes to become warm. */
const MB_OF_EACH = 0.05;
const MB_TO_WARM = 200;
/** The turn in which many requests arrive, and not that of one call. */
const TURN_MS = 250;

/** Each is answered long before the storm is over. */
const CALM_AT_LEAST = 2;

const longestOf = (answers: readonly StormAnswer[]) => Math.max(...answers.map(({ ms }) => ms));

export async function runStorm(
  storm: Storm,
  { sprites, requestsOfEach, refusedAtMost }: StormSize,
): Promise<StormReport> {
  await storm.createOrganization('acme');
  await storm.createOrganization('calm');
  const names = Array.from({ length: sprites }, (_, index) => `s-${index}`);
  await storm.createSuspended('acme', names);
  await storm.createRunning('calm', ['awake']);
  const before = await storm.measure();

  const asked = names.flatMap((name) =>
    Array.from({ length: requestsOfEach }, (_, index) => ({ name, path: `/${name}/${index}` })),
  );
  let isOver = false;
  async function goOn(): Promise<StormAnswer[]> {
    const answers: StormAnswer[] = [];
    while (!isOver) answers.push(await storm.ask('calm', 'awake', `/calm/${answers.length}`));
    return answers;
  }
  const going = goOn();
  const all = asked.map(({ name, path }) => storm.ask('acme', name, path));
  const answers = await Promise.all(all).finally(() => {
    isOver = true;
  });
  const calm = await going;

  const wrong = answers.filter((answer, at) => !isAnswer(answer, `${asked[at]?.name} ${asked[at]?.path}`));
  expect(wrong).toEqual([]);
  const refused = answers.filter(({ status }) => status === 503).length;
  expect(refused).toBeLessThanOrEqual(refusedAtMost);
  expect(calm.filter(({ status }) => status !== 200)).toEqual([]);
  expect(calm.length).toBeGreaterThanOrEqual(CALM_AT_LEAST);
  const came = asked.map(({ path }) => storm.arrivals.get(path) ?? 0);
  expect(came).toEqual(answers.map(({ status }) => (status === 200 ? 1 : 0)));
  // The boot, and the one thaw of all who have asked.
  expect(names.filter((name) => storm.agents.starts.get(name) !== 2)).toEqual([]);
  expect(storm.agents.troubles).toEqual([]);
  const measured = await storm.measure();
  expect(measured.peak_mb - before.rss_mb).toBeLessThan(MB_TO_WARM + MB_OF_EACH * asked.length);
  expect(measured.turnCpu_ms).toBeLessThan(TURN_MS);
  return { longest_ms: longestOf(answers), refused, calm: calm.length, longestCalm_ms: longestOf(calm), measured };
}

/** Whether it comes from the machine that was asked, or has the time to try again. */
function isAnswer({ status, text, retryAfter }: StormAnswer, expected: string): boolean {
  if (status === 200) return text === expected;
  return status === 503 && JSON.parse(text).error === 'not_reachable' && retryAfter !== undefined;
}
