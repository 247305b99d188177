// What an agent costs that has nothing to do: the real child of `remora dev`, with every part on.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { z } from 'zod';
import { agentProgram } from '../../../src/cli/agent-program.ts';
import { openDevStack } from '../../../src/cli/dev/dev-stack.ts';
import { type Memory, readCpu_ms, readMemory } from '../process-cost.ts';

/** What the start left to do, such as compiling and collecting, is over by then. */
const SETTLE_MS = 45_000;

export interface IdleCost {
  readonly cpu_percent: number;
  readonly before: Memory;
  readonly after: Memory;
  readonly parts: string;
}

const status = z.object({ pid: z.int(), parts: z.record(z.string(), z.object({ state: z.string() })) });

/** `transaction_ms`: how often the database node has something to tell. */
export async function measureIdle(run_ms: number, transaction_ms: number): Promise<IdleCost> {
  await using stack = new AsyncDisposableStack();
  const dir = stack.adopt(mkdtempSync(join(tmpdir(), 'remora-bench-')), (path) =>
    rmSync(path, { recursive: true, force: true }),
  );
  const dev = stack.use(
    await openDevStack({
      dir,
      port: 0,
      interval_ms: transaction_ms,
      agentCommand: agentProgram,
      version: '0',
      signal: new AbortController().signal,
      print: () => undefined,
    }),
  );
  const dispatcher = new Agent({ connect: { socketPath: dev.record.socket } });
  const { body } = await request('http://agent/v1/status', { dispatcher });
  const { pid, parts } = status.parse(await body.json());
  await dispatcher.destroy();
  await sleep(SETTLE_MS);
  const before = readMemory(pid);
  const [cpu_ms, begun_ms] = [readCpu_ms(pid), performance.now()];
  await sleep(run_ms);
  const cpu_percent = ((readCpu_ms(pid) - cpu_ms) / (performance.now() - begun_ms)) * 100;
  const states = Object.entries(parts).map(([name, { state }]) => `${name} ${state}`);
  return { cpu_percent, before, after: readMemory(pid), parts: states.join(', ') };
}
