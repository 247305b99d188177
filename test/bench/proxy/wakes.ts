// How long the first byte of an answer takes when the machine sleeps.
import { setTimeout as sleep } from 'node:timers/promises';
import { type Figure, percentile } from '../table.ts';
import { readHead, type Site } from './door.ts';

/** A machine may be suspended once a second. */
const BETWEEN_MS = 1_100;

/** `of`: what the machines are, for the name of the figure. */
export async function measureWakes(site: Site, wakes: number, of = 'process'): Promise<Figure[]> {
  const { machine_id } = await site.call('GET', '/v1/sprites/bench');
  const machine = `/v1/apps/acme/machines/${machine_id}`;
  const times_ms: number[] = [];
  for (let wake = 0; wake < wakes; wake += 1) {
    await sleep(BETWEEN_MS);
    await site.call('POST', `${machine}/suspend`);
    await site.call('GET', `${machine}/wait?state=suspended`);
    times_ms.push(await firstByte_ms(site));
  }
  const [p50, p99] = [0.5, 0.99].map((share) => percentile(times_ms, share).toFixed(0));
  return [
    {
      what: `a request to a suspended machine of the driver ${of}, ${wakes} times: first byte, p50 · p99`,
      value: `${p50} · ${p99} ms`,
    },
  ];
}

async function firstByte_ms(site: Site): Promise<number> {
  const begun_ms = performance.now();
  const head = await readHead(site);
  if (!head.startsWith('HTTP/1.1 200 ')) throw new Error(`not an answer of the sprite: ${head}`);
  return performance.now() - begun_ms;
}
