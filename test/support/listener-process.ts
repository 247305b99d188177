// A process whose listeners a test opens and closes: the agent does not report sockets of its own process.
import { fork } from 'node:child_process';
import type { ListenOptions } from 'node:net';
import { onTestFinished } from 'vitest';
import { signalProcess } from '../../src/linux/processes/signal-process.ts';
import type { ListenerAnswer, ListenerCommand } from './listener-child.ts';

export interface ListenerProcess {
  readonly pid: number;
  /** Resolves with the port once it listens. `http`: it answers every request with 503. */
  listen(options?: ListenOptions, http?: boolean): Promise<number>;
  /** Closes the listener of this port that was opened first. */
  close(port: number): Promise<void>;
  /** A new process inherits the listener; resolves with its pid. */
  handDown(port: number): Promise<number>;
  /** Opens so many files and keeps them. */
  holdDescriptors(count: number): Promise<void>;
  flap(count: number, width: number): Promise<void>;
  /** Ends it at once, without closing anything first. Resolves when it is gone. */
  kill(): Promise<void>;
}

export async function startListenerProcess(): Promise<ListenerProcess> {
  const child = fork(new URL('./listener-child.ts', import.meta.url), { execArgv: [] });
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  await new Promise((resolve) => child.once('spawn', resolve));
  const heirs: number[] = [];
  const pending = new Map<number, (answer: ListenerAnswer) => void>();
  let lastId = 0;
  child.on('message', (answer: ListenerAnswer) => {
    pending.get(answer.id)?.(answer);
    pending.delete(answer.id);
  });
  child.once('exit', () => {
    for (const [id, settle] of pending) settle({ id, error: 'the listener process is gone' });
  });
  onTestFinished(async () => {
    for (const pid of heirs) signalProcess(pid, 'SIGKILL');
    child.kill('SIGKILL');
    await gone;
  });

  function ask(command: ListenerCommand): Promise<number> {
    lastId += 1;
    const id = lastId;
    return new Promise((resolve, reject) => {
      pending.set(id, (answer) => ('error' in answer ? reject(new Error(answer.error)) : resolve(answer.value)));
      child.send({ id, ...command });
    });
  }

  return {
    pid: child.pid ?? 0,
    listen: (options = {}, http = false) => {
      return ask({ do: 'listen', options: { port: 0, host: '127.0.0.1', ...options }, http });
    },
    async close(port) {
      await ask({ do: 'close', port });
    },
    async handDown(port) {
      const pid = await ask({ do: 'hand_down', port });
      heirs.push(pid);
      return pid;
    },
    async holdDescriptors(count) {
      await ask({ do: 'hold_descriptors', count });
    },
    async flap(count, width) {
      await ask({ do: 'flap', count, width });
    },
    async kill() {
      child.kill('SIGKILL');
      await gone;
    },
  };
}
