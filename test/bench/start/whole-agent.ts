// An agent with every part on: that of the machine of `remora dev`, which starts and stops as often as it is wanted to.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { z } from 'zod';
import { openDevStack } from '../../../src/cli/dev/dev-stack.ts';
import { awaitFirstAnswer, type FirstAnswer, toExecLine, toShellArgs } from './first-answer.ts';

const LIMIT_MS = 30_000;
const POLL_MS = 20;
/** What a process that is nobody's has no right to. */
const MAY_BE_OFF = ['network'];

const ready = z.object({ status: z.string(), parts: z.record(z.string(), z.object({ state: z.string() })) });

export interface WholeAgent extends AsyncDisposable {
  /** Starts it with these arguments of Node, and resolves when every part is `ok`. Throws with those that are not. */
  start(args: readonly string[]): Promise<FirstAnswer>;
  stop(): Promise<void>;
  /** Calls an operation of its socket. Throws unless the answer is 200. */
  call(path: string): Promise<void>;
  suspend(): Promise<void>;
  /** Each part with its state, as people read it. */
  parts(): Promise<string>;
}

/** `transaction_ms`: how often the database node has something to tell. `args`: those of Node for the first start. */
export async function openWholeAgent(options: {
  readonly dir: string;
  readonly transaction_ms: number;
  readonly args: readonly string[];
}): Promise<WholeAgent> {
  await using stack = new AsyncDisposableStack();
  const { dir } = options;
  const [stamp, command, hooks] = [join(dir, 'stamp'), join(dir, 'command'), join(dir, 'hooks')];
  mkdirSync(hooks, { recursive: true });
  const setProgram = (args: readonly string[]) =>
    writeFileSync(command, `export REMORA_HOOKS_DIR='${hooks}'\n${toExecLine(args)}`);
  setProgram(options.args);
  const { record } = stack.use(
    await openDevStack({
      dir: join(dir, 'dev'),
      port: 0,
      interval_ms: options.transaction_ms,
      agentCommand: { command: '/bin/sh', args: toShellArgs({ stamp, command }) },
      version: '0',
      signal: new AbortController().signal,
      print: () => undefined,
    }),
  );
  const dispatcher = new Agent({ connect: { socketPath: record.socket } });
  stack.defer(() => dispatcher.destroy());

  async function readReady(): Promise<z.infer<typeof ready>> {
    const { body } = await request('http://agent/v1/ready', { dispatcher });
    return ready.parse(await body.json());
  }

  async function awaitParts(): Promise<void> {
    const begun_ms = performance.now();
    for (;;) {
      const { parts } = await readReady();
      const bad = Object.entries(parts).filter(([name, { state }]) => state !== 'ok' && !MAY_BE_OFF.includes(name));
      if (bad.length === 0) return;
      if (performance.now() - begun_ms > LIMIT_MS) {
        throw new Error(`not every part is ok: ${bad.map(([name, { state }]) => `${name} ${state}`).join(', ')}`);
      }
      await sleep(POLL_MS);
    }
  }

  async function change(what: 'start' | 'stop' | 'suspend', state: string): Promise<void> {
    const machine = `${record.platform_url}/v1/apps/${record.app}/machines/${record.machine}`;
    const headers = { authorization: `Bearer ${record.token}` };
    const given = await request(`${machine}/${what}`, { method: 'POST', headers });
    const said = await given.body.text();
    if (given.statusCode === 429) {
      // A machine may be changed once a second, and here it starts in less.
      await sleep(Number(given.headers['retry-after']) * 1_000);
      return await change(what, state);
    }
    if (given.statusCode >= 300) throw new Error(`the platform answers ${given.statusCode}: ${said}`);
    const { body, statusCode } = await request(`${machine}/wait?state=${state}&timeout=30`, { headers });
    await body.dump();
    if (statusCode !== 200) throw new Error(`the machine was not ${state} in time`);
  }

  await awaitParts();
  await change('stop', 'stopped');
  const opened = stack.move();
  return {
    async start(args) {
      setProgram(args);
      rmSync(record.socket, { force: true });
      const starting = change('start', 'started');
      const [first] = await Promise.all([awaitFirstAnswer(record.socket, stamp), starting]);
      await awaitParts();
      return first;
    },
    stop: () => change('stop', 'stopped'),
    async call(path) {
      const { body, statusCode } = await request(`http://agent${path}`, { dispatcher });
      await body.dump();
      if (statusCode !== 200) throw new Error(`${path} is answered with ${statusCode}`);
    },
    suspend: () => change('suspend', 'suspended'),
    async parts() {
      const { parts } = await readReady();
      return Object.entries(parts)
        .map(([name, { state }]) => `${name} ${state}`)
        .join(', ');
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}
