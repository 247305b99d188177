// A client of the emulator's control protocol, QMP: one command after the other, each with a deadline, and events.
import type { Duplex } from 'node:stream';
import { createLineFramer } from '../../../../../core/ndjson.ts';
import { RemoraError } from '../../../../../core/remora-error.ts';
import { withDeadline } from '../../../../../core/with-deadline.ts';
import { parseQmpMessage, type QmpEvent, type QmpMessage } from './qmp-message.ts';

export interface QmpClient extends Disposable {
  /** Resolves with what the command returns. Throws `internal` when the emulator refuses it, does not answer in time or has ended. */
  execute(command: string, parameters?: Readonly<Record<string, unknown>>): Promise<unknown>;
  onEvent(listener: (event: QmpEvent) => void): void;
  /** Resolves when the connection is over. */
  readonly closed: Promise<void>;
}

/** A message of the emulator has at most this; the longest that is asked for has a few kilobytes. */
const LINE_LIMIT_BYTES = 256 * 1024;
const ANSWER_MS = 10_000;

/** Resolves after the greeting of the emulator. Throws `internal` when there is none. */
export async function openQmpClient(socket: Duplex, answer_ms = ANSWER_MS): Promise<QmpClient> {
  const framer = createLineFramer(LINE_LIMIT_BYTES);
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  const listeners: ((event: QmpEvent) => void)[] = [];
  const greeting = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  greeting.promise.catch(() => undefined);
  let last = 0;

  function end(): void {
    const over = new RemoraError('internal', 'the emulator has ended the control connection');
    greeting.reject(over);
    for (const command of waiting.values()) command.reject(over);
    waiting.clear();
    closed.resolve();
  }

  function handle(message: QmpMessage): void {
    switch (message.type) {
      case 'greeting':
        greeting.resolve();
        break;
      case 'answer':
        waiting.get(message.id)?.resolve(message.value);
        break;
      case 'failure':
        waiting.get(message.id)?.reject(new RemoraError('internal', `the emulator refuses: ${message.text}`));
        break;
      case 'event':
        for (const listener of listeners) listener(message);
        break;
      default:
        message satisfies never;
    }
  }

  function onLine(line: string): void {
    const message = parseQmpMessage(line);
    if (message !== undefined) handle(message);
  }

  socket.on('data', (chunk: Buffer) => {
    try {
      framer.push(chunk, onLine);
    } catch {
      socket.destroy();
    }
  });
  socket.on('error', () => undefined);
  socket.on('end', () => socket.destroy());
  socket.on('close', end);

  async function execute(command: string, parameters?: Readonly<Record<string, unknown>>): Promise<unknown> {
    if (socket.destroyed) throw new RemoraError('internal', 'the emulator has ended the control connection');
    last += 1;
    const id = last;
    const answer = Promise.withResolvers<unknown>();
    waiting.set(id, answer);
    socket.write(`${JSON.stringify({ execute: command, arguments: parameters, id })}\n`);
    try {
      return await withDeadline(answer_ms, answer.promise, () => late(command, answer_ms));
    } finally {
      waiting.delete(id);
    }
  }

  try {
    await withDeadline(answer_ms, greeting.promise, () => late('greeting', answer_ms));
    await execute('qmp_capabilities');
  } catch (error) {
    socket.destroy();
    throw error;
  }
  return {
    execute,
    onEvent(listener) {
      listeners.push(listener);
    },
    closed: closed.promise,
    [Symbol.dispose]: () => void socket.destroy(),
  };
}

function late(what: string, answer_ms: number): RemoraError {
  return new RemoraError('internal', `the emulator has not answered ${what} within ${answer_ms / 1_000} s`);
}
