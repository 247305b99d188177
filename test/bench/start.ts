// What it costs to start the agent and to have it, with every part on and `ok`: beside a bare node:http server on the same Node, in turns, from
// the start of the process to its first answer on a Unix socket; then the memory of the built agent at rest, suspended and after work, and what it
// takes while nothing is to be done: `npm run bench:start`. BENCH_PAIRS=N for another number of rounds, BENCH_REST_MS for shorter rests,
// BENCH_WORK_MS=3600000 for an hour of work, BENCH_ONLY=start or memory for one part. It fails when a part is not `ok`.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { agentProgram } from '../../src/cli/agent-program.ts';
import { NODE_FLAGS } from '../../src/core/node-flags.ts';
import { makeBuiltProgram } from '../support/built-program.ts';
import { type Memory, readCpu_ms, readMemory, toMegabytes } from './process-cost.ts';
import { awaitFirstAnswer, type FirstAnswer, toExecLine, toShellArgs } from './start/first-answer.ts';
import { openWholeAgent } from './start/whole-agent.ts';
import { type Figure, percentile, printTable } from './table.ts';

const PAIRS = Number(process.env.BENCH_PAIRS ?? 20);
const REST_MS = Number(process.env.BENCH_REST_MS ?? 60_000);
const WORK_MS = Number(process.env.BENCH_WORK_MS ?? 120_000);
const only = process.env.BENCH_ONLY;

const RATIO_BAR = 3.5;
const REST_BAR_BYTES = 35e6;
const LOADED_BAR_BYTES = 45e6;
const RESIDENT_BAR_BYTES = 100e6;
const GROWTH_BAR_BYTES = 10e6;
const IDLE_BAR_PERCENT = 0.3;
/** A process at rest compiles a little at a time what it runs then, until its fourth minute. */
const COMPILED_MS = 120_000;

/** What a call at once has in flight, and how many calls make a load. */
const ABREAST = 8;
const CALLS = 2_000;
/** A pause after each turn of a load: the platform takes no more than a thousand calls a second of one sprite. */
const LOAD_PAUSE_MS = 12;
/** The same for steady work. */
const WORK_PAUSE_MS = 50;
const CALL = '/v1/gateway/sample/sample/hello';
const NEVER_MS = 3_600_000;

const dir = mkdtempSync(join(tmpdir(), 'remora-bench-'));
process.once('exit', () => rmSync(dir, { recursive: true, force: true }));
const built = [...NODE_FLAGS, await makeBuiltProgram(), 'agent'];

if (only !== 'memory') await printStarts();
if (only !== 'start') await printMemory();

async function printStarts(): Promise<void> {
  const starts = { built: [] as FirstAnswer[], sources: [] as FirstAnswer[], bare: [] as FirstAnswer[] };
  await using agent = await openWholeAgent({ dir: join(dir, 'starts'), transaction_ms: NEVER_MS, args: built });
  for (let round = 0; round < PAIRS; round += 1) {
    starts.bare.push(await startBare());
    for (const [kept, args] of [
      [starts.built, built],
      [starts.sources, agentProgram.args],
    ] as const) {
      kept.push(await agent.start(args));
      await agent.stop();
    }
  }
  const toRatio = (kind: readonly FirstAnswer[]) =>
    percentile(
      kind.map(({ ms }, index) => ms / (starts.bare[index]?.ms ?? Number.NaN)),
      0.5,
    );
  const row = (what: string, pick: (start: FirstAnswer) => number): Figure => {
    const toText = (kind: readonly FirstAnswer[]) => `${percentile(kind.map(pick), 0.5).toFixed(0)} ms`;
    const { sources, bare } = starts;
    return { what, value: `built ${toText(starts.built)}, from sources ${toText(sources)}, bare ${toText(bare)}` };
  };
  const ratio = toRatio(starts.built);
  printTable(`The agent beside a bare node:http server, Node ${process.versions.node}, ${PAIRS} rounds, medians`, [
    row('start to the first answer', ({ ms }) => ms),
    {
      what: 'as many times as long as bare, built; median of the rounds',
      value: ratio.toFixed(2),
      bar: `${RATIO_BAR}`,
      met: ratio <= RATIO_BAR,
    },
    { what: '… from sources', value: toRatio(starts.sources).toFixed(2) },
    row('CPU until then', ({ cpu_ms }) => cpu_ms),
  ]);
}

async function startBare(): Promise<FirstAnswer> {
  const place = join(dir, 'bare');
  mkdirSync(place, { recursive: true });
  const [socket, stamp, command] = [join(place, 'socket'), join(place, 'stamp'), join(place, 'command')];
  const server = `require('node:http').createServer((q, r) => r.end('{}')).listen(${JSON.stringify(socket)})`;
  rmSync(socket, { force: true });
  writeFileSync(command, toExecLine(['-e', server]));
  const child = spawn('/bin/sh', toShellArgs({ stamp, command }), { stdio: 'ignore' });
  const exited = once(child, 'exit');
  const first = await awaitFirstAnswer(socket, stamp);
  child.kill('SIGKILL');
  await exited;
  return first;
}

/** The share of a core that it takes, measured over a minute. */
async function measureCpu_percent(pid: number): Promise<number> {
  const [cpu_ms, begun_ms] = [readCpu_ms(pid), performance.now()];
  await sleep(REST_MS);
  return ((readCpu_ms(pid) - cpu_ms) / (performance.now() - begun_ms)) * 100;
}

function toShare(percent: number): string {
  return `${percent.toFixed(2)} % of a core`;
}

async function printMemory(): Promise<void> {
  const figures: Figure[] = [];
  {
    await using agent = await openWholeAgent({ dir: join(dir, 'rest'), transaction_ms: NEVER_MS, args: built });
    const { pid } = await agent.start(built);
    await sleep(REST_MS);
    figures.push(...toMemory('at rest', readMemory(pid), REST_BAR_BYTES));
    figures.push({ what: 'CPU in the minute after that', value: toShare(await measureCpu_percent(pid)) });
    await sleep(COMPILED_MS);
    const percent = await measureCpu_percent(pid);
    figures.push({
      what: 'CPU at rest, once V8 has compiled what runs then',
      value: toShare(percent),
      bar: `${IDLE_BAR_PERCENT} %`,
      met: percent <= IDLE_BAR_PERCENT,
    });
    figures.push({ what: 'parts', value: await agent.parts() });
    await agent.suspend();
    figures.push(...toMemory('suspended, which is what is saved', readMemory(pid)));
  }
  {
    await using agent = await openWholeAgent({ dir: join(dir, 'work'), transaction_ms: 1_000, args: built });
    const { pid } = await agent.start(built);
    const turn = () => Promise.all(Array.from({ length: ABREAST }, () => agent.call(CALL)));
    for (let called = 0; called < CALLS; called += ABREAST) {
      await turn();
      await sleep(LOAD_PAUSE_MS);
    }
    await agent.call('/metrics');
    await sleep(REST_MS);
    const loaded = readMemory(pid);
    figures.push(...toMemory(`after ${CALLS} calls, a scrape, a transaction a second`, loaded, LOADED_BAR_BYTES));
    for (const begun_ms = performance.now(); performance.now() - begun_ms < WORK_MS; await sleep(WORK_PAUSE_MS))
      await turn();
    await sleep(REST_MS);
    const growth_bytes = readMemory(pid).anonymous_bytes - loaded.anonymous_bytes;
    figures.push({
      what: `anonymous, more after ${WORK_MS / 1_000} s of calls`,
      value: toMegabytes(growth_bytes),
      bar: toMegabytes(GROWTH_BAR_BYTES),
      met: growth_bytes <= GROWTH_BAR_BYTES,
    });
  }
  printTable(`The built agent with every part on; each figure ${REST_MS / 1_000} s after what is named`, figures);
}

function toMemory(when: string, memory: Memory, bar_bytes?: number): Figure[] {
  const row = (kind: string, bytes: number, bar: number | undefined): Figure => ({
    what: `${kind}, ${when}`,
    value: toMegabytes(bytes),
    ...(bar === undefined ? {} : { bar: toMegabytes(bar), met: bytes <= bar }),
  });
  return [
    row('resident', memory.rss_bytes, bar_bytes && RESIDENT_BAR_BYTES),
    row('anonymous', memory.anonymous_bytes, bar_bytes),
  ];
}
