// Speaking HTTP by hand over a socket, so that nothing repairs what is sent and nothing hides how an answer ends.
import { connect, type NetConnectOpts, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

export interface RawConnection {
  readonly socket: Socket;
  /** Everything received so far, one byte in each character. */
  readonly text: string;
  /** Resolves with the text as soon as it fits. Rejects when the connection ends before that. */
  until(pattern: RegExp): Promise<string>;
  /** Resolves with the whole text when the connection has ended, in whatever way. */
  readonly ended: Promise<string>;
}

/** `where` is the path of a Unix socket or a port of 127.0.0.1. `bytes` are sent as they are. */
export function openRaw(where: string | number, bytes: string | Buffer): RawConnection {
  const options: NetConnectOpts = typeof where === 'string' ? { path: where } : { host: '127.0.0.1', port: where };
  const socket = connect(options);
  onTestFinished(() => {
    socket.destroy();
  });
  let text = '';
  let over = false;
  const watchers = new Set<() => void>();
  const notify = () => {
    for (const watcher of watchers) watcher();
  };
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
    notify();
  });
  socket.on('error', () => undefined);
  const ended = new Promise<string>((resolve) => {
    socket.once('close', () => {
      over = true;
      notify();
      resolve(text);
    });
  });
  socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'utf8') : bytes);
  return {
    socket,
    get text() {
      return text;
    },
    ended,
    until: (pattern) =>
      new Promise((resolve, reject) => {
        const check = () => {
          if (pattern.test(text)) {
            watchers.delete(check);
            resolve(text);
          } else if (over) {
            watchers.delete(check);
            reject(new Error(`the connection ended before ${pattern}: ${JSON.stringify(text)}`));
          }
        };
        watchers.add(check);
        check();
      }),
  };
}
