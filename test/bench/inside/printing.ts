// What it costs the supervisor that a service prints much, beside programs that do less with the same bytes, and how others fare beside a
// service that prints without end.
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readCpu_ms } from '../process-cost.ts';
import type { Figure } from '../table.ts';
import { measureLogLines } from './log-lines.ts';
import type { BenchSprite } from './sprite.ts';

const NODE = `process.stdin.pipe(require('node:fs').createWriteStream(process.argv[1]))`;
/** Stamps lines as \`ts\` does. */
const STAMP =
  'use POSIX; use Time::HiRes "time"; $| = 0; while (<STDIN>) { my $t = time; print strftime("%FT%TZ ", gmtime $t), $_ }';
const SERVICE = 'printing';
const LINES = { long: 'x'.repeat(99), short: 'x'.repeat(9) } as const;
const SHARE_MS = 3_000;

export async function measurePrinting(sprite: BenchSprite, megabytes: number, dir: string): Promise<Figure[]> {
  const bytes = megabytes * 1_000_000;
  const file = join(dir, 'printed');
  const source = `yes ${LINES.long} | head -c ${bytes}`;
  const figures: Figure[] = [];
  for (const [name, line] of Object.entries(LINES)) {
    const cpu_ms = await measureService(sprite, `yes ${line} | head -c ${bytes}`);
    figures.push({ what: `a service, ${name} lines: CPU of the supervisor`, value: toText(cpu_ms, megabytes) });
  }
  const peers = {
    'cat > file': `cat > ${file}`,
    'node, pipe to file': `${process.execPath} -e '${quote(NODE)}' ${file}`,
    'perl, stamps each line': `perl -e '${quote(STAMP)}' > ${file}`,
  };
  for (const [what, command] of Object.entries(peers)) {
    figures.push({ what: `${what}, long lines: CPU`, value: toText(measureCommand(source, command), megabytes) });
  }
  rmSync(file, { force: true });
  return [...figures, ...(await measureShare(sprite))];
}

function toText(cpu_ms: number, megabytes: number): string {
  return `${((cpu_ms * 100) / megabytes / 1_000).toFixed(3)} s per 100 MB`;
}

function quote(text: string): string {
  return text.replaceAll("'", `'\\''`);
}

async function measureService(sprite: BenchSprite, source: string): Promise<number> {
  const pid = sprite.pids().get('supervisor') ?? 0;
  const mark = `printed ${randomUUID()}`;
  const before_ms = readCpu_ms(pid);
  await put(sprite, `sleep 0.2; ${source}; echo; echo ${mark}; sleep 600`);
  for (;;) {
    await sleep(200);
    const answer = await fetch(`${sprite.url}/services/${SERVICE}/logs?lines=1`, { headers: toHeaders(sprite) });
    if ((await answer.text()).includes(`"${mark}"`)) break;
  }
  const cpu_ms = readCpu_ms(pid) - before_ms;
  await remove(sprite);
  return cpu_ms;
}

/** CPU time of the second command, by the clock of the shell. */
function measureCommand(source: string, command: string): number {
  const script = `TIMEFORMAT='%U %S'; ${source} | { time ${command}; }`;
  const text = execFileSync('bash', ['-c', `( ${script} ) 2>&1`], { encoding: 'utf8' });
  const [user = 0, system = 0] = text.trim().split(' ').map(Number);
  return (user + system) * 1_000;
}

/** Measures one service that prints without end: what it takes of a core, and how soon the lines of another one come. */
async function measureShare(sprite: BenchSprite): Promise<Figure[]> {
  const pid = sprite.pids().get('supervisor') ?? 0;
  await put(sprite, `exec yes ${LINES.long}`);
  await sleep(1_000);
  const before_ms = readCpu_ms(pid);
  await sleep(SHARE_MS);
  const share = (readCpu_ms(pid) - before_ms) / SHARE_MS;
  const lines = await measureLogLines(sprite, 300);
  await remove(sprite);
  return [
    { what: 'a service that prints without end: cores of the supervisor', value: share.toFixed(2) },
    ...lines.map((figure) => ({ ...figure, what: `a line of another service meanwhile, ${figure.what}` })),
  ];
}

async function put(sprite: BenchSprite, script: string): Promise<void> {
  const body = JSON.stringify({ cmd: '/bin/sh', args: ['-c', script] });
  const request = { method: 'PUT', headers: { ...toHeaders(sprite), 'content-type': 'application/json' }, body };
  await (await fetch(`${sprite.url}/services/${SERVICE}?duration=0s`, request)).text();
}

async function remove(sprite: BenchSprite): Promise<void> {
  await fetch(`${sprite.url}/services/${SERVICE}`, { method: 'DELETE', headers: toHeaders(sprite) });
}

function toHeaders({ token }: BenchSprite) {
  return { authorization: `Bearer ${token}` };
}
