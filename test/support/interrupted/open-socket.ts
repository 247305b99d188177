// A WebSocket of a sprite, with what came over it.
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { atEnd } from '../at-end.ts';
import { eventually } from '../eventually.ts';
import type { KillablePlatform } from '../killable-platform.ts';

export interface OpenSocket {
  readonly socket: WebSocket;
  /** Resolves with all that came, as text without the first byte of binary frames, once it fits. */
  until(pattern: RegExp): Promise<string>;
  /** `broken` without a close frame, else its code. */
  ending(): Promise<string>;
}

/** Resolves when it is open. `path`: below the sprite. */
export async function openSocket({ url, token }: KillablePlatform, path: string): Promise<OpenSocket> {
  const headers = { authorization: `Bearer ${token.reveal()}` };
  const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/sprites/dev-1${path}`, { headers });
  atEnd(() => socket.terminate());
  let text = '';
  socket.on('message', (data: Buffer, isBinary: boolean) => {
    text += isBinary ? data.subarray(1).toString('latin1') : data.toString();
  });
  const closed = new Promise<number>((resolve) => socket.once('close', resolve));
  await once(socket, 'open');
  socket.on('error', () => undefined);
  return {
    socket,
    async until(pattern) {
      await eventually(() => pattern.test(text));
      return text;
    },
    async ending() {
      const code = await closed;
      return code === 1006 ? 'broken' : `closed ${code}`;
    },
  };
}
