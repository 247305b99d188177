// Processes of a supervisor over a WebSocket: what a caller sends, and what it gets back.
import type { ClientOptions } from 'ws';
import { type ExecSteering, execFrame } from '../../src/contract/processes.ts';
import { openWebSocket, type WebSocketCaller } from './websocket-caller.ts';

export interface ExecCaller extends WebSocketCaller {
  stdin(text: string | Buffer): void;
  endStdin(): void;
  steer(steering: ExecSteering): void;
  /** All frames of one kind, joined. */
  text(kind: keyof typeof execFrame): string;
  /** Resolves when it is closed. */
  ended(): Promise<{ readonly exit_code: number | undefined; readonly code: number }>;
}

export function toExecQuery(cmd: readonly string[], more: Readonly<Record<string, string>> = {}): string {
  const query = new URLSearchParams(cmd.map((word) => ['cmd', word]));
  for (const [name, value] of Object.entries(more)) query.append(name, value);
  return query.toString();
}

/** `target`: below `/v1/exec`. */
export async function openExec(socket: string, target: string, options: ClientOptions = {}): Promise<ExecCaller> {
  const caller = await openWebSocket(socket, `/v1/exec${target}`, options);
  const frames = (kind: keyof typeof execFrame) => caller.messages.filter((frame) => frame[0] === execFrame[kind]);
  return {
    ...caller,
    stdin: (text) => caller.socket.send(Buffer.concat([Buffer.from([execFrame.stdin]), Buffer.from(text)])),
    endStdin: () => caller.socket.send(Buffer.from([execFrame.endOfStdin])),
    steer: (steering) => caller.socket.send(JSON.stringify(steering)),
    text: (kind) => Buffer.concat(frames(kind).map((frame) => frame.subarray(1))).toString(),
    async ended() {
      const { code } = await caller.closed;
      return { exit_code: frames('exitCode').at(-1)?.[1], code };
    },
  };
}

/** Runs to the end. */
export async function runExec(socket: string, cmd: readonly string[], more: Readonly<Record<string, string>> = {}) {
  const caller = await openExec(socket, `?${toExecQuery(cmd, more)}`);
  const end = await caller.ended();
  return { ...end, stdout: caller.text('stdout'), stderr: caller.text('stderr') };
}
