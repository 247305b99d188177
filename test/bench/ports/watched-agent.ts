// The whole daemon in a process of its own, with one reader of its port watch.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createAgentClient } from '../../../src/cli/agent-client.ts';
import { readCpu_ms } from '../process-cost.ts';
import { now_ms } from './moment.ts';

const remoraPath = new URL('../../../src/cli/remora.js', import.meta.url).pathname;

export interface WatchedAgent extends AsyncDisposable {
  cpu_ms(): number;
  /** What `/v1/status` says of the ports. */
  scans(): Promise<unknown>;
}

export type Message = { readonly type: 'port_opened' | 'port_closed'; readonly port: number };

export async function startWatchedAgent(onMessage: (message: Message, at_ms: number) => void): Promise<WatchedAgent> {
  const dir = mkdtempSync(join(tmpdir(), 'remora-bench-'));
  const socket = join(dir, 'agent.sock');
  const child = spawn(process.execPath, [remoraPath, 'agent'], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      PATH: process.env.PATH,
      REMORA_SOCKET: socket,
      REMORA_STATE_DIR: join(dir, 'state'),
      REMORA_SPRITE: 'bench',
      REMORA_PORTS_PUSH: process.env.REMORA_PORTS_PUSH,
      REMORA_LOG_LEVEL: 'error',
    },
  });
  const { pid = 0 } = child;
  const agent = createAgentClient(socket);
  for (let tries = 0; ; tries += 1) {
    const answer = await agent.client.call('status').catch(() => undefined);
    if (answer !== undefined) break;
    if (tries > 200) throw new Error('the agent does not serve');
    await sleep(50);
  }
  const watching = new AbortController();
  const watch = (async () => {
    for await (const line of agent.client.stream('watchPorts', { signal: watching.signal })) {
      if (line.type !== 'port_list') onMessage(line, now_ms());
    }
  })().catch(() => undefined);
  return {
    cpu_ms: () => readCpu_ms(pid),
    scans: async () => (await agent.client.call('status')).details.ports,
    async [Symbol.asyncDispose]() {
      watching.abort();
      const gone = once(child, 'exit');
      child.kill('SIGTERM');
      await gone;
      await watch;
      await agent[Symbol.asyncDispose]();
      rmSync(dir, { recursive: true });
    },
  };
}
