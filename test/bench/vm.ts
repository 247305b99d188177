// Cold boot against restore, to the first answer over HTTP, and where the time goes: `npm run bench:vm`, as root. The machine is
// emulated in software; BENCH_ROUNDS restores, BENCH_TOGETHER of them at once at the end.
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Guest, type Snapshot, startGuest } from '../support/vm/guest.ts';
import { runScript } from '../support/vm/run-script.ts';
import { isWithoutMachines, makeTestImage } from '../support/vm/vm-image.ts';
import { type Figure, percentile, printTable } from './table.ts';
import { untilAnswer } from './vm/first-answer.ts';

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5);
const TOGETHER = Number(process.env.BENCH_TOGETHER ?? 10);
const SERIES = process.env.BENCH_KERNEL === '6.1' ? '6.1' : '6.12';
const RATIO_BAR = 20;
const GATE_BAR = 2;
/** Waits at the gate of a resume, as what goes out does, and needs nothing outside. */
const PATH = '/v1/ready';
/** The cache of translated code and the machine's own start work settle. */
const SETTLE_MS = 20_000;

const ends: (() => Promise<void>)[] = [];
const dirs: string[] = [];
const atEnd = (end: () => Promise<void>) => void ends.push(end);
function makeDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'rem-vm-'));
  dirs.push(dir);
  return dir;
}

interface Answered {
  readonly guest: Guest;
  /** From the start of the emulator. */
  readonly agent_ms: number;
  readonly bare_ms: number;
  /** From the moment at which the machine went on. */
  readonly runs_ms: number;
}

async function answer(options: { readonly from?: Snapshot }): Promise<Answered> {
  const begun_ms = performance.now();
  let runs_ms = begun_ms;
  const guest = await startGuest({
    ...options,
    image,
    dir: makeDir(),
    atEnd,
    environment: { REMORA_SPRITE: 'web' },
    beforeItRuns: () => {
      runs_ms = performance.now();
    },
  });
  const [agent_ms, bare_ms] = await Promise.all([
    untilAnswer(guest.ports.agent, PATH),
    untilAnswer(guest.ports.bare, '/'),
  ]);
  return { guest, agent_ms: agent_ms - begun_ms, bare_ms: bare_ms - begun_ms, runs_ms: runs_ms - begun_ms };
}

const toTime = (ms: number) => `${ms.toFixed(0)} ms`;
const median = (values: readonly number[]) => percentile(values, 0.5);

async function measure(): Promise<void> {
  const cold = await answer({});
  const boot = await runScript(cold.guest.ports.shell, 'systemd-analyze | head -1; systemd-analyze blame | head -5');
  await sleep(SETTLE_MS);
  const used = await runScript(cold.guest.ports.shell, 'free -m | awk "NR == 2 { print \\$3, \\$6 }"');
  const saved = await cold.guest.suspend();
  const restores: Answered[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const restored = await answer({ from: saved });
    restores.push(restored);
    await restored.guest.kill();
  }
  const agent_ms = median(restores.map((each) => each.agent_ms));
  const bare_ms = median(restores.map((each) => each.bare_ms));
  const loaded_ms = median(restores.map((each) => each.runs_ms));
  const afterwards = median(restores.map((each) => (each.agent_ms - each.runs_ms) / (each.bare_ms - each.runs_ms)));
  const ratio = cold.agent_ms / agent_ms;
  const memory = statSync(join(saved.dir, 'memory'));
  const figures: Figure[] = [
    { what: 'cold boot to the first answer of the agent', value: toTime(cold.agent_ms) },
    { what: `restore to the first answer of the agent, median of ${ROUNDS}`, value: toTime(agent_ms) },
    { what: 'times faster', value: ratio.toFixed(1), bar: `${RATIO_BAR}`, met: ratio >= RATIO_BAR },
    { what: 'of the restore: emulator started, files copied, state loaded', value: toTime(loaded_ms) },
    { what: 'of the restore: the machine runs until the agent answers', value: toTime(agent_ms - loaded_ms) },
    { what: 'the same until a bare responder answers', value: toTime(bare_ms - loaded_ms) },
    {
      what: 'agent beside the bare responder, from the moment the machine runs',
      value: `${afterwards.toFixed(2)} times`,
      bar: `${GATE_BAR}`,
      met: afterwards <= GATE_BAR,
    },
    { what: 'save', value: toTime(saved.save_ms) },
    { what: 'memory file, allocated', value: `${Math.round((memory.blocks * 512) / 1e6)} MB` },
    { what: 'state beside it', value: `${Math.round(statSync(join(saved.dir, 'state')).size / 1000)} KB` },
    { what: 'memory used and cached in the machine', value: `${used.trim().replace(' ', ' and ')} MB` },
  ];
  printTable(`one machine, kernel ${SERIES}, software emulation`, figures);
  console.log(boot);
  if (TOGETHER > 0) await measureTogether(saved);
}

async function measureTogether(saved: Snapshot): Promise<void> {
  const all = await Promise.all(Array.from({ length: TOGETHER }, () => answer({ from: saved })));
  const times = all.map((each) => each.agent_ms);
  for (const { guest } of all) await guest.kill();
  printTable(`${TOGETHER} machines restored at once`, [
    { what: 'first answer of the first', value: toTime(Math.min(...times)) },
    { what: 'median', value: toTime(median(times)) },
    { what: 'of the last', value: toTime(Math.max(...times)) },
  ]);
}

if (isWithoutMachines()) process.exit(1);
const image = await makeTestImage(SERIES);
try {
  await measure();
} finally {
  for (const end of ends) await end();
  for (const dir of dirs) rmSync(dir, { recursive: true, force: true });
}
