// Many bytes through `cat` over the platform, over a WebSocket and over plain HTTP, and the memory of every process on the way.

import { Readable } from 'node:stream';
import { request } from 'undici';
import { WebSocket } from 'ws';
import { execFrame } from '../../../src/contract/processes.ts';
import { readMemory, toMegabytes } from '../process-cost.ts';
import type { Figure } from '../table.ts';
import type { BenchSprite } from './sprite.ts';

const PIECE = Buffer.alloc(64 * 1024, 'x');
/** Its pauses between two chunks make it slow. */
const HTTP_BYTES = 256 * 1024 * 1024;
const AHEAD_BYTES = 1024 * 1024;
const SAMPLE_MS = 100;
/** How much more a process may have in the second half than at the worst moment of the first. */
const GROWTH_BYTES = 24e6;

type Passed = (bytes: number) => void;

export async function measureExecCat(sprite: BenchSprite, megabytes: number): Promise<Figure[]> {
  const bytes = megabytes * 1024 * 1024;
  await sprite.client.sprite(sprite.url.split('/').at(-1) ?? '').execFile('/bin/true');
  const overHttp_bytes = Math.min(bytes, HTTP_BYTES);
  return [
    ...(await measureWay('a WebSocket', sprite, bytes, (onPassed) => throughSocket(sprite, bytes, onPassed))),
    ...(await measureWay('plain HTTP', sprite, overHttp_bytes, (onPassed) =>
      throughHttp(sprite, overHttp_bytes, onPassed),
    )),
  ];
}

/** How fast it went, and what every process on the way had. */
async function measureWay(
  way: string,
  sprite: BenchSprite,
  bytes: number,
  run: (onPassed: Passed) => Promise<void>,
): Promise<Figure[]> {
  const peaks = new Map<string, [number, number]>();
  let half = 0;
  const sample = setInterval(() => {
    for (const [name, pid] of sprite.pids()) {
      const peak = peaks.get(name) ?? [0, 0];
      peak[half] = Math.max(peak[half] ?? 0, readMemory(pid).rss_bytes);
      peaks.set(name, peak);
    }
  }, SAMPLE_MS);
  const begun_ms = performance.now();
  try {
    await run((passed) => {
      half = passed < bytes / 2 ? 0 : 1;
    });
  } finally {
    clearInterval(sample);
  }
  const speed = bytes / 1_000 / (performance.now() - begun_ms);
  return [
    { what: `over ${way}, ${bytes / 1024 ** 2} MB in and out`, value: `${speed.toFixed(1)} MB/s` },
    ...[...peaks].map(([name, [first, second]]) => ({
      what: `… resident, ${name}: most in the first half · in the second`,
      value: `${toMegabytes(first)} · ${toMegabytes(second)}`,
      bar: `+ ${toMegabytes(GROWTH_BYTES)}`,
      met: second <= first + GROWTH_BYTES,
    })),
  ];
}

async function throughSocket(sprite: BenchSprite, total: number, onPassed: Passed): Promise<void> {
  const socket = new WebSocket(`${sprite.url.replace('http', 'ws')}/exec?cmd=cat&stdin=true`, {
    headers: { authorization: `Bearer ${sprite.token}` },
    perMessageDeflate: false,
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const frame = Buffer.concat([Buffer.of(execFrame.stdin), PIECE]);
  let sent = 0;
  let passed = 0;
  const send = () => {
    while (sent < total && socket.bufferedAmount < AHEAD_BYTES) {
      sent += PIECE.length;
      socket.send(frame, () => sent < total && send());
    }
    if (sent >= total) socket.send(Buffer.of(execFrame.endOfStdin));
  };
  let isOver = false;
  socket.once('open', send);
  socket.on('message', (data: Buffer) => {
    if (data[0] === execFrame.stdout) passed += data.length - 1;
    onPassed(passed);
    if (data[0] === execFrame.exitCode) isOver = true;
  });
  socket.once('error', reject);
  socket.once('close', () => {
    if (isOver && passed === sent) resolve();
    else reject(new Error(`cat gave back ${passed} of ${sent} bytes`));
  });
  await promise;
}

async function throughHttp({ url, token }: BenchSprite, total: number, onPassed: Passed): Promise<void> {
  const pieces = function* () {
    for (let sent = 0; sent < total; sent += PIECE.length) yield PIECE;
  };
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/octet-stream' };
  const { body } = await request(`${url}/exec?cmd=cat`, { method: 'POST', headers, body: Readable.from(pieces()) });
  let passed = 0;
  for await (const chunk of body) {
    passed += chunk.length;
    onPassed(passed);
  }
  if (passed < total) throw new Error(`cat gave back ${passed} of ${total} bytes`);
}
