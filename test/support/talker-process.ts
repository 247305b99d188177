// A process that connects to listeners: to the agent, its connections are those of others.
import { fork } from 'node:child_process';
import { onTestFinished } from 'vitest';
import type { TalkerCommand, TalkerMessage } from './talker-child.ts';

export interface TalkerProcess {
  readonly pid: number;
  /** Resolves with the number of the connection once it is made. */
  connect(port: number, host?: string): Promise<number>;
  send(connection: number, bytes: number): Promise<void>;
  close(connection: number): Promise<void>;
  /** Resolves when the connection is closed: with the code of its error, or null for a clean end. */
  ended(connection: number): Promise<string | null>;
  /** Whether it is closed by now. */
  isEnded(connection: number): boolean;
}

export async function startTalkerProcess(): Promise<TalkerProcess> {
  const child = fork(new URL('./talker-child.ts', import.meta.url), { execArgv: [] });
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  await new Promise((resolve) => child.once('spawn', resolve));
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await gone;
  });
  const answers = new Map<number, (value: number) => void>();
  const ends = new Map<number, PromiseWithResolvers<string | null>>();
  const over = new Set<number>();
  let last = 0;

  function endOf(connection: number): PromiseWithResolvers<string | null> {
    const known = ends.get(connection) ?? Promise.withResolvers<string | null>();
    ends.set(connection, known);
    return known;
  }

  child.on('message', (message: TalkerMessage) => {
    if ('ended' in message) {
      over.add(message.ended);
      endOf(message.ended).resolve(message.code);
    } else answers.get(message.answer)?.(message.value);
  });

  function ask(command: TalkerCommand): Promise<number> {
    last += 1;
    const number = last;
    return new Promise((resolve) => {
      answers.set(number, resolve);
      child.send({ number, ...command });
    });
  }

  return {
    pid: child.pid ?? 0,
    connect: (port, host = '127.0.0.1') => ask({ do: 'connect', port, host }),
    async send(id, bytes) {
      await ask({ do: 'send', id, bytes });
    },
    async close(id) {
      await ask({ do: 'close', id });
    },
    ended: (connection) => endOf(connection).promise,
    isEnded: (connection) => over.has(connection),
  };
}
