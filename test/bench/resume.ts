// What a resume costs callers, and what it costs to be ready for one: `npm run bench:resume`. It takes some minutes on a quiet machine;
// BENCH_ROUNDS and BENCH_IDLE_MS make it shorter, and BENCH_ONLY=recoveries, detector or idle runs one part.
import { measureDetector } from './detector.ts';
import { toMegabytes } from './process-cost.ts';
import { measureIdle } from './resume/idle.ts';
import { measureRecoveries, POOLED, READERS } from './resume/recoveries.ts';
import { type Figure, percentile, printTable } from './table.ts';

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 200);
const IDLE_MS = Number(process.env.BENCH_IDLE_MS ?? 60_000);
const only = process.env.BENCH_ONLY;

const GATE_BAR_MS = 150;
const CPU_BAR_PERCENT = 0.5;

function toTimes(what: string, values: readonly number[]): Figure[] {
  return [
    { what: `${what}, median`, value: `${percentile(values, 0.5).toFixed(1)} ms` },
    { what: `${what}, p99`, value: `${percentile(values, 0.99).toFixed(1)} ms` },
  ];
}

async function printRecoveries(): Promise<void> {
  const found = await measureRecoveries(ROUNDS);
  const p99_ms = percentile(found.gate_ms, 0.99);
  printTable(`${ROUNDS} resumes, ${POOLED} pooled connections, ${READERS} readers of events`, [
    ...toTimes('first signal to open gate', found.gate_ms).slice(0, 1),
    {
      what: 'first signal to open gate, p99',
      value: `${p99_ms.toFixed(1)} ms`,
      bar: `${GATE_BAR_MS} ms`,
      met: p99_ms <= GATE_BAR_MS,
    },
    ...toTimes('of that, the steps', found.steps_ms),
    ...toTimes('first signal to an answer over a new connection', found.answer_ms),
    ...toTimes('first signal to the end of the recovery', found.all_ms),
    { what: 'pooled connections before it', value: `${found.pooled[0]} to ${found.pooled[1]}` },
    {
      what: 'events that readers missed',
      value: String(found.missedByReaders),
      bar: '0',
      met: found.missedByReaders === 0,
    },
  ]);
}

function toChange(before_bytes: number, after_bytes: number): string {
  return `${toMegabytes(before_bytes)}, at the end ${toMegabytes(after_bytes)}`;
}

async function printIdle(title: string, transaction_ms: number): Promise<void> {
  const { cpu_percent, before, after, parts } = await measureIdle(IDLE_MS, transaction_ms);
  printTable(`The agent of remora dev, idle for ${IDLE_MS / 1_000} s, ${title}`, [
    {
      what: 'CPU',
      value: `${cpu_percent.toFixed(2)} % of a core`,
      bar: `${CPU_BAR_PERCENT} %`,
      met: cpu_percent <= CPU_BAR_PERCENT,
    },
    { what: 'resident, from sources', value: toChange(before.rss_bytes, after.rss_bytes) },
    { what: 'anonymous, from sources', value: toChange(before.anonymous_bytes, after.anonymous_bytes) },
    { what: 'parts', value: parts },
  ]);
}

if (only === undefined || only === 'recoveries') await printRecoveries();
if (only === undefined || only === 'detector') printTable('Noticing a resume', measureDetector());
if (only === undefined || only === 'idle') {
  await printIdle('one transaction a second', 1_000);
  await printIdle('a database at rest', 3_600_000);
}
