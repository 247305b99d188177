// A WebSocket client over a Unix socket, with what it heard.
import { onTestFinished } from 'vitest';
import { type ClientOptions, WebSocket } from 'ws';

export interface WebSocketCaller {
  readonly socket: WebSocket;
  readonly messages: readonly Buffer[];
  /** Resolves once there are so many messages. */
  received(count: number): Promise<readonly Buffer[]>;
  /** 1006 when the connection broke off. */
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
}

/** Resolves when the handshake is done; rejects with `Unexpected server response: <status>` when it was refused. */
export function openWebSocket(path: string, target: string, options: ClientOptions = {}): Promise<WebSocketCaller> {
  const socket = new WebSocket(`ws+unix:${path}:${target}`, options);
  const messages: Buffer[] = [];
  const waiting = new Set<() => void>();
  onTestFinished(() => socket.terminate());
  socket.on('message', (data: Buffer) => {
    messages.push(data);
    for (const wake of waiting) wake();
  });
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.once('close', (code, reason) => resolve({ code, reason: reason.toString() }));
  });
  const caller: WebSocketCaller = {
    socket,
    messages,
    closed,
    received: (count) =>
      new Promise((resolve) => {
        const wake = () => {
          if (messages.length < count) return;
          waiting.delete(wake);
          resolve(messages);
        };
        waiting.add(wake);
        wake();
      }),
  };
  return new Promise((resolve, reject) => {
    socket.once('open', () => resolve(caller));
    socket.on('error', reject);
  });
}
