// `/bin/true` over the platform and over ssh, in turns: with a connection of its own each time, and over one that is kept.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ControlConnection, SpritesClient } from '@fly/sprites';
import { type Figure, percentile } from '../table.ts';
import { runTimed } from './run-timed.ts';
import type { BenchSprite } from './sprite.ts';
import type { Sshd } from './sshd.ts';

const BAR = 2;
const PROGRAM = '/bin/true';

async function timed(work: () => Promise<unknown>): Promise<number> {
  const begun_ms = performance.now();
  await work();
  return performance.now() - begun_ms;
}

/** The first call of each list came right after its connection. */
export async function measureExecTrue(
  { client, url, token }: BenchSprite,
  sshd: Sshd | undefined,
  { calls, dir }: { readonly calls: number; readonly dir: string },
): Promise<Figure[]> {
  const name = url.split('/').at(-1) ?? '';
  const sprite = client.sprite(name);
  const single: number[] = [];
  const kept: number[] = [];
  const overHttp: number[] = [];
  const sshSingle: number[] = [];
  const sshKept: number[] = [];
  const control = new SpritesClient(token, { baseURL: new URL(url).origin, controlMode: true }).sprite(name);
  let connection: ControlConnection | undefined;
  const path = join(dir, 'control');
  const shared = ['-o', `ControlPath=${path}`];
  const master = sshd && spawn('ssh', [...sshd.options, ...shared, '-M', '-N', sshd.host], { stdio: 'ignore' });
  try {
    if (sshd !== undefined) await untilMaster(sshd, shared);
    for (let call = 0; call < calls; call += 1) {
      single.push(await timed(() => sprite.execFile(PROGRAM)));
      overHttp.push(await timed(() => sprite.execFileHTTP(PROGRAM)));
      kept.push(
        await timed(async () => {
          connection ??= await control.getControlConnection();
          const op = await connection.startOp('exec', { cmd: [PROGRAM] });
          await op.wait();
        }),
      );
      if (sshd === undefined) continue;
      sshSingle.push(await runTimed('ssh', [...sshd.options, sshd.host, PROGRAM]));
      sshKept.push(await runTimed('ssh', [...sshd.options, ...shared, sshd.host, PROGRAM]));
    }
  } finally {
    control.closeControlConnection();
    master?.kill('SIGTERM');
    if (master !== undefined) await once(master, 'exit');
  }
  return [
    ...toFigures('a connection each time', single, sshSingle),
    ...toFigures('over one connection', kept, sshKept),
    { what: 'over plain HTTP: first · median · p99', value: toText(overHttp) },
  ];
}

async function untilMaster({ options, host }: Sshd, shared: readonly string[]): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const check = spawn('ssh', [...options, ...shared, '-O', 'check', host], { stdio: 'ignore' });
    const [code] = await once(check, 'exit');
    if (code === 0) return;
    await sleep(50);
  }
  throw new Error('ssh does not keep a connection');
}

function toText(times_ms: readonly number[]): string {
  const median_ms = percentile(times_ms, 0.5);
  return `${times_ms[0]?.toFixed(1)} · ${median_ms.toFixed(1)} · ${percentile(times_ms, 0.99).toFixed(1)} ms`;
}

function toFigures(how: string, own_ms: readonly number[], ssh_ms: readonly number[]): Figure[] {
  const own: Figure = { what: `${how}, platform: first · median · p99`, value: toText(own_ms) };
  if (ssh_ms.length === 0) return [own];
  const median = percentile(own_ms, 0.5) / percentile(ssh_ms, 0.5);
  const first = (own_ms[0] ?? 0) / (ssh_ms[0] ?? 0);
  return [
    own,
    { what: `${how}, ssh: first · median · p99`, value: toText(ssh_ms) },
    { what: `${how}, median to ssh`, value: median.toFixed(2), bar: `≤ ${BAR}`, met: median <= BAR },
    { what: `${how}, first call to ssh`, value: first.toFixed(2), bar: `≤ ${BAR}`, met: first <= BAR },
  ];
}
