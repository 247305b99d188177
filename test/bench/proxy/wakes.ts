// How long the first byte of an answer takes when the machine sleeps.
import { setTimeout as sleep } from 'node:timers/promises';
import { type Figure, percentile } from '../table.ts';
import { type Door, readHead } from './door.ts';

/** A machine may be suspended once a second. */
const BETWEEN_MS = 1_100;

export async function measureWakes(door: Door, wakes: number): Promise<Figure[]> {
  const { machine_id } = await door.call('GET', '/v1/sprites/bench');
  const machine = `/v1/apps/acme/machines/${machine_id}`;
  const times_ms: number[] = [];
  for (let wake = 0; wake < wakes; wake += 1) {
    await sleep(BETWEEN_MS);
    await door.call('POST', `${machine}/suspend`);
    await door.call('GET', `${machine}/wait?state=suspended`);
    times_ms.push(await firstByte_ms(door));
  }
  const [p50, p99] = [0.5, 0.99].map((share) => percentile(times_ms, share).toFixed(0));
  return [
    { what: `a request to a suspended machine, ${wakes} times: first byte, p50 · p99`, value: `${p50} · ${p99} ms` },
  ];
}

async function firstByte_ms(door: Door): Promise<number> {
  const begun_ms = performance.now();
  const head = await readHead(door);
  if (!head.startsWith('HTTP/1.1 200 ')) throw new Error(`not an answer of the sprite: ${head}`);
  return performance.now() - begun_ms;
}
