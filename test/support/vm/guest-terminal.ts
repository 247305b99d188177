// A terminal session in a guest, from this machine.
import { WebSocket } from 'ws';
import { atEnd } from '../at-end.ts';
import { eventually } from '../eventually.ts';
import type { AgentDoor } from './agent-door.ts';

export interface GuestTerminal {
  /** Everything that it has shown since this connection was made. */
  text(): string;
  /** Sends a line, and resolves when this is shown. */
  say(line: string, answer: string): Promise<void>;
  close(): void;
}

const LIMIT_MS = 60_000;

/** `target`: below `/v1/exec`. */
export async function openTerminal({ url }: AgentDoor, target: string): Promise<GuestTerminal> {
  const socket = new WebSocket(`${url.replace('http:', 'ws:')}/v1/exec${target}`);
  let shown = '';
  socket.on('message', (data: Buffer, isBinary: boolean) => {
    if (isBinary) shown += data.toString();
  });
  const opened = new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
  socket.on('error', () => undefined);
  atEnd(() => socket.terminate());
  await opened;
  return {
    text: () => shown,
    async say(line, answer) {
      socket.send(Buffer.from(`${line}\n`));
      await eventually(() => shown.includes(answer), LIMIT_MS);
    },
    close: () => socket.close(),
  };
}
