// The control connection of an emulator: one command after the other.
import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Qmp {
  run(command: string, args?: object): Promise<Record<string, unknown>>;
  end(): void;
}

const LIMIT_MS = 60_000;

export async function connectQmp(path: string): Promise<Qmp> {
  const end = performance.now() + LIMIT_MS;
  const socket = connect(path);
  for (;;) {
    try {
      await once(socket, 'connect');
      break;
    } catch (error) {
      if (performance.now() > end) throw error;
      await sleep(20);
      socket.connect(path);
    }
  }
  const waiting: ((answer: { return?: Record<string, unknown>; error?: { desc: string } }) => void)[] = [];
  createInterface({ input: socket }).on('line', (line) => {
    const message = JSON.parse(line);
    if ('return' in message || 'error' in message) waiting.shift()?.(message);
  });
  socket.on('error', () => undefined);
  socket.on('close', () => {
    for (const take of waiting.splice(0)) take({ error: { desc: 'the emulator has ended' } });
  });
  const run: Qmp['run'] = async (command, args) => {
    const answered = new Promise<Parameters<(typeof waiting)[0]>[0]>((resolve) => waiting.push(resolve));
    socket.write(`${JSON.stringify({ execute: command, ...(args === undefined ? {} : { arguments: args }) })}\n`);
    const { return: value, error } = await answered;
    if (error !== undefined) throw new Error(`${command}: ${error.desc}`);
    return value ?? {};
  };
  await run('qmp_capabilities');
  return { run, end: () => socket.destroy() };
}
