// How long a line takes from the write of a service's process to a reader at the platform.
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Figure, percentile } from '../table.ts';
import type { BenchSprite } from './sprite.ts';

const BAR_MS = 50;
/** Each line is the time of its write, in nanoseconds. */
const SCRIPT = 'while :; do date +%s%N; sleep 0.01; done';

export async function measureLogLines({ url, token }: BenchSprite, lines: number): Promise<Figure[]> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const service = `${url}/services/lines`;
  const put = { method: 'PUT', headers, body: JSON.stringify({ cmd: '/bin/sh', args: ['-c', SCRIPT] }) };
  await (await fetch(`${service}?duration=0s`, put)).text();
  await sleep(500);
  const stop = new AbortController();
  const delays_ms: number[] = [];
  const answer = await fetch(`${service}/logs?lines=0&duration=10m`, { headers, signal: stop.signal });
  if (!answer.ok || answer.body === null) throw new Error(`the log cannot be followed: ${answer.status}`);
  const reader = createInterface(Readable.fromWeb(answer.body));
  reader.on('error', () => undefined);
  for await (const line of reader) {
    const now_ms = performance.timeOrigin + performance.now();
    const { type, data } = JSON.parse(line.replace(/^data: /, '') || '{}');
    if (type === 'stdout') delays_ms.push(now_ms - Number(data) / 1e6);
    if (delays_ms.length >= lines) break;
  }
  stop.abort();
  await fetch(service, { method: 'DELETE', headers });
  const p99_ms = percentile(delays_ms, 0.99);
  return [
    { what: 'median', value: `${percentile(delays_ms, 0.5).toFixed(1)} ms` },
    { what: 'p99', value: `${p99_ms.toFixed(1)} ms`, bar: `≤ ${BAR_MS} ms`, met: p99_ms <= BAR_MS },
  ];
}
