// An agent with everything on that is resumed again and again by a scripted kernel: how long callers wait for the gate, and for the
// first answer from the outside.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { z } from 'zod';
import { openAgent, type RunningAgent } from '../../../src/agent/agent.ts';
import { loadConfig } from '../../../src/agent/config/load-config.ts';
import { agentEventLine } from '../../../src/contract/local/events.ts';
import { resumedFields } from '../../../src/contract/local/resume.ts';
import { createScriptedKernel, type ScriptedKernel } from '../../support/scripted-kernel.ts';
import { silentLog } from '../../support/silent-log.ts';

export const POOLED = 50;
export const READERS = 20;
const WARM_UP = 10;
/** Signs within two seconds are one resume: so much passes on the scripted clock between two of them, in steps that are no gap. */
const APART_MS = 3_000;
const STEP_MS = 1_000;

export interface Recoveries {
  /** The time from the first signal to the answer of a caller that waited for the gate, in milliseconds. */
  readonly gate_ms: readonly number[];
  /** The time to the answer of the platform over a new connection. */
  readonly answer_ms: readonly number[];
  /** What the steps before the gate report. */
  readonly steps_ms: readonly number[];
  /** The time from the first signal to `resumed`, with every step done. */
  readonly all_ms: readonly number[];
  /** Connections to the platform that were open just before the resume, the fewest and the most. */
  readonly pooled: readonly [number, number];
  readonly missedByReaders: number;
}

const ready = z.object({ type: z.literal('ready'), url: z.string() });
const seen = z.object({ type: z.literal('seen'), open: z.number(), resumed: z.number() });

export async function measureRecoveries(rounds: number): Promise<Recoveries> {
  await using stack = new AsyncDisposableStack();
  const dir = stack.adopt(mkdtempSync(join(tmpdir(), 'remora-bench-')), (path) => rmSync(path, { recursive: true }));
  const outside = fork(new URL('outside.ts', import.meta.url), [String(READERS)]);
  stack.defer(() => void outside.disconnect());
  const { url } = await hear(outside, ready);
  const socket = join(dir, 'agent.sock');
  const kernel = createScriptedKernel();
  const end = new AbortController();
  stack.use(await open({ dir, socket, url, kernel, signal: end.signal }));
  stack.defer(() => end.abort());
  const pool = new Pool('http://agent', { socketPath: socket, connections: POOLED + 2 });
  stack.defer(() => pool.destroy());
  outside.send({ socket });

  const call = async (path: string) => {
    const { statusCode, body } = await pool.request({ method: 'GET', path: `/v1/gateway/openai/c${path}` });
    await body.dump();
    return statusCode;
  };
  await waitFor(async () => (await call('/x')) === 200);
  const resumed = await followResumed(socket);
  const open_counts: number[] = [];
  const found = {
    gate_ms: [] as number[],
    answer_ms: [] as number[],
    steps_ms: [] as number[],
    all_ms: [] as number[],
  };

  for (let round = -WARM_UP; round < rounds; round += 1) {
    await Promise.all(Array.from({ length: POOLED }, () => call('/x')));
    for (let passed = 0; passed < APART_MS; passed += STEP_MS) {
      kernel.run(STEP_MS);
      await call('/blocked');
    }
    outside.send({});
    const { open } = await hear(outside, seen);
    const ended = resumed.next();
    kernel.restore();
    const begun_ms = performance.now();
    const took = () => performance.now() - begun_ms;
    const gate = call('/blocked').then((status) => expectStatus(status, 403) ?? took());
    const answer = call('/x').then((status) => expectStatus(status, 200) ?? took());
    const [gate_ms, answer_ms, steps_ms] = await Promise.all([gate, answer, ended]);
    if (round < 0) continue;
    open_counts.push(open);
    found.gate_ms.push(gate_ms);
    found.answer_ms.push(answer_ms);
    found.steps_ms.push(steps_ms);
    found.all_ms.push(took());
  }
  outside.send({});
  const { resumed: lines } = await hear(outside, seen);
  resumed.close();
  return {
    ...found,
    pooled: [Math.min(...open_counts), Math.max(...open_counts)],
    missedByReaders: (rounds + WARM_UP) * READERS - lines,
  };
}

interface Place {
  readonly dir: string;
  readonly socket: string;
  readonly url: string;
  readonly kernel: ScriptedKernel;
  readonly signal: AbortSignal;
}

async function open({ dir, socket, url, kernel, signal }: Place): Promise<RunningAgent> {
  const env = {
    REMORA_SOCKET: socket,
    REMORA_STATE_DIR: join(dir, 'state'),
    REMORA_BASE_URL: url,
    REMORA_SPRITE: 'dev-1',
    REMORA_TOKEN: 'token',
  };
  const missing = () => {
    throw new Error('there is no such file');
  };
  const config = loadConfig({ env, readFile: missing, exists: () => false });
  const log = silentLog;
  return await openAgent({ config, log, env, inherited: [], version: '0', signal, kernel });
}

async function hear<T>(child: ChildProcess, schema: z.ZodType<T>): Promise<T> {
  const [message] = await once(child, 'message');
  return schema.parse(message);
}

async function waitFor(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await sleep(50);
}

function expectStatus(status: number, wanted: number): undefined {
  if (status !== wanted) throw new Error(`the gateway answered ${status}, not ${wanted}`);
}

/** Each `resumed` event as the time of the steps before the gate. */
async function followResumed(socketPath: string): Promise<{ next(): Promise<number>; close(): void }> {
  const client = new Pool('http://agent', { socketPath, connections: 1 });
  const { body } = await client.request({ method: 'GET', path: '/v1/events?types=resumed' });
  let waiting = Promise.withResolvers<number>();
  let rest = '';
  body.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines.filter((text) => text.includes('"resumed"'))) {
      const { steps } = resumedFields.parse(agentEventLine.parse(JSON.parse(line)));
      waiting.resolve(steps.filter(({ name }) => GATED.has(name)).reduce((sum, { ms }) => sum + ms, 0));
    }
  });
  body.on('error', () => undefined);
  return {
    next() {
      waiting = Promise.withResolvers<number>();
      return waiting.promise;
    },
    close: () => void client.destroy(),
  };
}

const GATED = new Set(['gate', 'identity', 'time', 'sockets']);
