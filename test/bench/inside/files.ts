// One large file down and up: over the platform, over the agent's own socket, which shows what platform and channel cost, and by scp.
import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Figure, percentile } from '../table.ts';
import { runTimed } from './run-timed.ts';
import type { BenchSprite } from './sprite.ts';
import type { Sshd } from './sshd.ts';

const BAR = 0.8;

type Way = 'down' | 'up';
type Run = (way: Way) => Promise<number>;

export async function measureFiles(
  { url, token, socket }: BenchSprite,
  sshd: Sshd | undefined,
  options: { readonly megabytes: number; readonly rounds: number; readonly dir: string },
): Promise<Figure[]> {
  const { megabytes, rounds, dir } = options;
  const near = join(dir, 'near');
  const far = join(dir, 'far');
  const copies = { down: join(dir, 'near-copy'), up: join(dir, 'far-copy') };
  for (const path of [near, far]) {
    execFileSync('dd', ['if=/dev/urandom', `of=${path}`, 'bs=1M', `count=${megabytes}`, 'status=none']);
  }
  const curl =
    (base: string, words: readonly string[]): Run =>
    (way) => {
      const place = `workingDir=/&path=${way === 'down' ? far : copies.up}`;
      const target = `${base}/fs/${way === 'down' ? 'read' : 'write'}?${place}`;
      const file = way === 'down' ? ['-o', copies.down] : ['-T', near, '-H', 'expect:', '-o', '/dev/null'];
      return runTimed('curl', ['-sSf', ...words, ...file, target]);
    };
  const ways = new Map<string, Run>([
    ['platform', curl(url, ['-H', `authorization: Bearer ${token}`])],
    ['agent socket', curl('http://agent/v1', ['--unix-socket', socket])],
  ]);
  if (sshd !== undefined) {
    const { options: words, host } = sshd;
    ways.set('scp', (way) => {
      const ends = way === 'down' ? [`${host}:${far}`, copies.down] : [near, `${host}:${copies.up}`];
      return runTimed('scp', ['-q', ...words, ...ends]);
    });
  }
  const speeds = new Map<string, number[]>();
  for (let round = 0; round < rounds; round += 1) {
    for (const way of ['down', 'up'] as const) {
      for (const [name, run] of ways) {
        rmSync(copies[way], { force: true });
        const took_ms = await run(way);
        const key = `${name} ${way}`;
        speeds.set(key, [...(speeds.get(key) ?? []), (megabytes * 1.048576 * 1_000) / took_ms]);
        execFileSync('cmp', way === 'down' ? [far, copies.down] : [near, copies.up]);
      }
    }
  }
  for (const path of [near, far, copies.down, copies.up]) rmSync(path, { force: true });
  const of = (name: string, way: Way) => percentile(speeds.get(`${name} ${way}`) ?? [], 0.5);
  return (['down', 'up'] as const).flatMap((way) => [
    ...[...ways.keys()].map((name) => ({ what: `${way}, ${name}`, value: `${of(name, way).toFixed(0)} MB/s` })),
    ...(sshd === undefined ? [] : [toRatio(way, of('platform', way) / of('scp', way))]),
    { what: `${way}, platform to agent socket`, value: (of('platform', way) / of('agent socket', way)).toFixed(2) },
  ]);
}

function toRatio(way: Way, ratio: number): Figure {
  return { what: `${way}, platform to scp`, value: ratio.toFixed(2), bar: `≥ ${BAR}`, met: ratio >= BAR };
}
