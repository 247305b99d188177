// The processes of the follower benchmark: started, asked one thing at a time, and ended.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'undici';
import type { z } from 'zod';
import { type Reading, reading, ready } from './messages.ts';

export function start(file: string, ...args: string[]): ChildProcess {
  return fork(new URL(file, import.meta.url), args, {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    execArgv: ['--expose-gc'],
  });
}

export async function hear<T>(child: ChildProcess, schema: z.ZodType<T>): Promise<T> {
  const [message] = await once(child, 'message');
  return schema.parse(message);
}

export async function ask<T>(child: ChildProcess, schema: z.ZodType<T>, word = 'go'): Promise<T> {
  const answer = hear(child, schema);
  child.send(word);
  return await answer;
}

export async function end(child: ChildProcess): Promise<void> {
  const gone = once(child, 'exit');
  child.disconnect();
  await gone;
}

/** A directory, an agent that follows `url`, and a client of its socket; all gone at the end. */
export async function openAgent(url: string) {
  const dir = mkdtempSync(join(tmpdir(), 'remora-bench-'));
  const path = join(dir, 'agent.sock');
  const agent = start('agent.ts', path, dir, url);
  await hear(agent, ready);
  const client = new Client('http://agent', { connect: { socketPath: path } });
  return {
    dir,
    path,
    agent,
    client,
    async [Symbol.asyncDispose]() {
      await client.destroy();
      await end(agent);
      rmSync(dir, { recursive: true });
    },
  };
}

export async function until(agent: ChildProcess, isSo: (now: Reading) => boolean): Promise<void> {
  while (!isSo(await ask(agent, reading))) await sleep(5);
}
