// Cold boot against restore, to the first answer over HTTP, and where the time goes: `npm run bench:vm`, as root. The machine is
// emulated in software. BENCH_ROUNDS restores for each question, and BENCH_TOGETHER machines at once at the end.
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { sumInThread } from '../../src/platform/machines/drivers/qemu/snapshots/sum-in-thread.ts';
import { type Guest, type Snapshot, startGuest } from '../support/vm/guest.ts';
import { isWithoutMachines, makeTestImage } from '../support/vm/vm-image.ts';
import { type Figure, percentile, printTable } from './table.ts';
import { type Question, untilAnswer } from './vm/first-answer.ts';
import { openWorld } from './vm/world.ts';

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5);
const TOGETHER = Number(process.env.BENCH_TOGETHER ?? 10);
const SERIES = process.env.BENCH_KERNEL === '6.1' ? '6.1' : '6.12';
const RATIO_BAR = 20;
const BARE_BAR = 2;
/** Both servers have answered before the machine is saved, as in a machine that has been used. */
const CALLS_BEFORE = 30;
/** The agent's own start work settles. */
const SETTLE_MS = 20_000;

const ends: (() => Promise<void>)[] = [];
const dirs: string[] = [];
const atEnd = (end: () => Promise<void>) => void ends.push(end);
function makeDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'rem-vm-'));
  dirs.push(dir);
  return dir;
}

/** `ready` and `call` are for the agent; `bare` and `pass` ask the bare responder for the same. */
const kinds = ['ready', 'bare', 'call', 'pass'] as const;
type Kind = (typeof kinds)[number];

function toQuestion(kind: Kind, { ports }: Guest): Question {
  switch (kind) {
    case 'ready':
      // It waits at the gate of a resume, as what goes out does, and needs nothing outside.
      return { port: ports.socket, path: '/v1/ready' };
    case 'bare':
      return { port: ports.bare, path: '/' };
    case 'call':
      return { port: ports.socket, path: world.gatewayPath };
    case 'pass':
      return { port: ports.bare, path: '/', headers: { 'pass-to': world.providerUrl } };
  }
}

interface Restore {
  /** The sums of its files, which the driver checks while the emulator starts. */
  readonly check_ms: number;
  /** How long it takes from the start of the emulator, and of the check, until the machine runs. */
  readonly load_ms: number;
  /** How long it takes from then until the answer. */
  readonly answer_ms: number;
}

async function restore(saved: Snapshot, kind: Kind): Promise<Restore> {
  const at = { start: 0, checked: 0, run: 0 };
  const guest = await startGuest({
    image,
    dir: makeDir(),
    atEnd,
    from: saved,
    onStep: (step) => {
      at[step] = performance.now();
    },
    async whileStarting() {
      await Promise.all(['state', 'memory'].map((name) => sumInThread(join(saved.dir, name))));
      at.checked = performance.now();
    },
  });
  const answered_ms = await untilAnswer(toQuestion(kind, guest));
  await guest.kill();
  return { check_ms: at.checked - at.start, load_ms: at.run - at.start, answer_ms: answered_ms - at.run };
}

const toTime = (ms: number) => `${ms.toFixed(0)} ms`;
const median = (values: readonly number[]) => percentile(values, 0.5);
const medianOf = (restores: readonly Restore[], part: keyof Restore) => median(restores.map((each) => each[part]));

async function measure(): Promise<void> {
  let begun_ms = 0;
  const cold = await startGuest({
    image,
    dir: makeDir(),
    atEnd,
    token: world.token,
    environment: world.environment,
    onStep: () => {
      begun_ms = performance.now();
    },
  });
  const cold_ms = (await untilAnswer(toQuestion('ready', cold))) - begun_ms;
  const boot = await cold.run('systemd-analyze | head -1; systemd-analyze blame | head -5');
  for (let call = 0; call < CALLS_BEFORE; call += 1) {
    for (const kind of kinds) await untilAnswer(toQuestion(kind, cold));
  }
  await sleep(SETTLE_MS);
  const used = await cold.run('free -m | awk "NR == 2 { print \\$3, \\$6 }"');
  const saved = await cold.suspend();
  await world.keep();

  const of: Record<Kind, Restore[]> = { ready: [], bare: [], call: [], pass: [] };
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const kind of kinds) {
      await world.renew();
      of[kind].push(await restore(saved, kind));
    }
  }
  const parts = ['load_ms', 'answer_ms'] as const;
  const restore_ms = median(of.ready.map((each) => parts.reduce((sum, part) => sum + each[part], 0)));
  const ratio = cold_ms / restore_ms;
  const beside = (agent: Kind, bare: Kind) => medianOf(of[agent], 'answer_ms') / medianOf(of[bare], 'answer_ms');
  const toBare = (what: string, share: number): Figure => {
    return { what, value: `${share.toFixed(2)} times`, bar: `${BARE_BAR}`, met: share <= BARE_BAR };
  };
  const memory = statSync(join(saved.dir, 'memory'));
  printTable(`one machine, kernel ${SERIES}, software emulation, medians of ${ROUNDS}`, [
    { what: 'cold boot to the first answer of the agent', value: toTime(cold_ms) },
    { what: 'restore to the first answer of the agent', value: toTime(restore_ms) },
    { what: 'times faster', value: ratio.toFixed(1), bar: `${RATIO_BAR}`, met: ratio >= RATIO_BAR },
    { what: 'of the restore: the emulator starts and loads the state', value: toTime(medianOf(of.ready, 'load_ms')) },
    { what: 'meanwhile the files are checked', value: toTime(medianOf(of.ready, 'check_ms')) },
    {
      what: 'the machine runs until the gate is open and the agent answers',
      value: toTime(medianOf(of.ready, 'answer_ms')),
    },
    { what: 'the machine runs until the bare responder answers', value: toTime(medianOf(of.bare, 'answer_ms')) },
    toBare('agent beside the bare responder', beside('ready', 'bare')),
    { what: 'until the first good call through the gateway', value: toTime(medianOf(of.call, 'answer_ms')) },
    { what: 'until the bare responder has passed a call on', value: toTime(medianOf(of.pass, 'answer_ms')) },
    toBare('the call beside the bare responder', beside('call', 'pass')),
    { what: 'pause and save', value: toTime(saved.save_ms) },
    { what: 'memory file, allocated', value: `${Math.round((memory.blocks * 512) / 1e6)} MB` },
    { what: 'state beside it', value: `${Math.round(statSync(join(saved.dir, 'state')).size / 1000)} KB` },
    { what: 'memory used and cached in the machine', value: `${used.trim().replace(' ', ' and ')} MB` },
  ]);
  console.log(boot);
  if (TOGETHER > 0) await measureTogether(saved);
}

async function measureTogether(saved: Snapshot): Promise<void> {
  await world.renew();
  const begun_ms = performance.now();
  const times = await Promise.all(
    Array.from({ length: TOGETHER }, async () => {
      const { load_ms, answer_ms } = await restore(saved, 'ready');
      return load_ms + answer_ms;
    }),
  );
  printTable(`${TOGETHER} machines restored at once`, [
    { what: 'first answer of the first', value: toTime(Math.min(...times)) },
    { what: 'median', value: toTime(median(times)) },
    { what: 'of the last', value: toTime(Math.max(...times)) },
    { what: 'all together, with the copies of their files', value: toTime(performance.now() - begun_ms) },
  ]);
}

if (isWithoutMachines()) process.exit(1);
const image = await makeTestImage(SERIES);
const world = await openWorld(makeDir());
try {
  await measure();
} finally {
  for (const end of ends) await end();
  await world[Symbol.asyncDispose]();
  for (const dir of dirs) rmSync(dir, { recursive: true, force: true });
}
