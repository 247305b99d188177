// From the start of a process to its first answer on a Unix socket: the built agent, the one from its sources and a bare node:http server on
// the same Node, one after the other, with what each then has in memory: `npm run bench:start`. BENCH_PAIRS=N for another number of rounds.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { agentProgram } from '../../src/cli/agent-program.ts';
import { NODE_FLAGS } from '../../src/core/node-flags.ts';
import { makeBuiltProgram } from '../support/built-program.ts';
import { type Memory, readCpu_ms, readMemory, toMegabytes } from './process-cost.ts';
import { type Figure, percentile, printTable } from './table.ts';

const PAIRS = Number(process.env.BENCH_PAIRS ?? 20);
/** For the agent as it is shipped, built into few files. */
const RATIO_BAR = 3.5;
const SETTLE_MS = 2_000;
const POLL_MS = 1;
const LIMIT_MS = 20_000;
const bare = "require('node:http').createServer((q, r) => r.end('{}')).listen(process.env.REMORA_SOCKET)";

interface Start {
  readonly first_ms: number;
  /** CPU time until then. */
  readonly cpu_ms: number;
  readonly memory: Memory;
}

/** `args` are those of Node; the socket is REMORA_SOCKET. */
async function start(args: readonly string[]): Promise<Start> {
  const dir = mkdtempSync(join(tmpdir(), 'remora-bench-'));
  const socket = join(dir, 's');
  const env = {
    PATH: process.env.PATH ?? '',
    REMORA_SOCKET: socket,
    REMORA_STATE_DIR: join(dir, 'state'),
    REMORA_LOG_LEVEL: 'silent',
  };
  const begun_ms = performance.now();
  const child = spawn(process.execPath, [...args], { stdio: 'ignore', env });
  const { pid } = child;
  const exited = once(child, 'exit');
  if (pid === undefined) throw new Error('the process did not start');
  try {
    while (!(await answers(socket))) {
      if (child.exitCode !== null || performance.now() - begun_ms > LIMIT_MS)
        throw new Error(`no answer within ${LIMIT_MS} ms, or the process ended`);
      await sleep(POLL_MS);
    }
    const first_ms = performance.now() - begun_ms;
    const cpu_ms = readCpu_ms(pid);
    await sleep(SETTLE_MS);
    return { first_ms, cpu_ms, memory: readMemory(pid) };
  } finally {
    child.kill('SIGKILL');
    await exited;
    rmSync(dir, { recursive: true });
  }
}

function answers(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const call = request({ socketPath, path: '/v1/health' }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode === 200));
    });
    call.once('error', () => resolve(false));
    call.end();
  });
}

const built: Start[] = [];
const sources: Start[] = [];
const bares: Start[] = [];
const program = await makeBuiltProgram();
for (let round = 0; round < PAIRS; round += 1) {
  bares.push(await start(['-e', bare]));
  built.push(await start([...NODE_FLAGS, program, 'agent']));
  sources.push(await start(agentProgram.args));
}

const median = (starts: readonly Start[], pick: (start: Start) => number) => percentile(starts.map(pick), 0.5);
const toRatio = (starts: readonly Start[]) =>
  percentile(
    starts.map(({ first_ms }, index) => first_ms / (bares[index]?.first_ms ?? Number.NaN)),
    0.5,
  );
const ratio = toRatio(built);
const row = (what: string, pick: (start: Start) => number, toText: (value: number) => string): Figure => ({
  what,
  value: [
    `built ${toText(median(built, pick))}`,
    `from sources ${toText(median(sources, pick))}`,
    `bare ${toText(median(bares, pick))}`,
  ].join(', '),
});
const toMs = (value: number) => `${value.toFixed(0)} ms`;
printTable(
  `The agent beside a bare node:http server, no platform configured, Node ${process.versions.node}, ${PAIRS} rounds, medians`,
  [
    row('start to the first answer', ({ first_ms }) => first_ms, toMs),
    {
      what: 'as many times as long as bare, built; median of the rounds',
      value: ratio.toFixed(2),
      bar: `${RATIO_BAR}`,
      met: ratio <= RATIO_BAR,
    },
    { what: '… from sources', value: toRatio(sources).toFixed(2) },
    row('CPU until then', ({ cpu_ms }) => cpu_ms, toMs),
    row('resident', ({ memory }) => memory.rss_bytes, toMegabytes),
    row('anonymous', ({ memory }) => memory.anonymous_bytes, toMegabytes),
  ],
);
