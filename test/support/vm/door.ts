// A port of this machine that a guest knows for as long as it lives. What serves behind it changes; what the guest sends is noted.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { atEnd } from '../at-end.ts';

export interface Passage {
  /** What the guest has sent over this connection, one byte in each character, as far as it is kept. */
  readonly sent: string;
  readonly isOpen: boolean;
}

export interface Door {
  /** The address at which the guest reaches it. */
  readonly url: string;
  /** Every connection of the guest since `open`, in order. */
  readonly passages: readonly Passage[];
  /** Forgets what was noted, and leads to this address from now on. */
  open(url: string): void;
  /** Breaks off what is connected, and takes nobody any more. */
  close(): void;
}

/** The address of this machine in a guest's network. */
const HOST = '10.77.0.1';
const KEPT_BYTES = 256 * 1024;

export async function openDoor(): Promise<Door> {
  const sockets = new Set<Socket>();
  let passages: Passage[] = [];
  let behind: URL | undefined;
  const server = createServer({ allowHalfOpen: true }, (near) => {
    if (behind === undefined) return void near.destroy();
    const passage = { sent: '', isOpen: true };
    passages.push(passage);
    near.on('data', (bytes) => {
      if (passage.sent.length < KEPT_BYTES) passage.sent += bytes.toString('latin1');
    });
    near.on('close', () => {
      passage.isOpen = false;
    });
    const far = connect({ host: behind.hostname, port: Number(behind.port), allowHalfOpen: true });
    near.pipe(far).pipe(near);
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        sockets.delete(one);
        if (!one.readableEnded) other.destroy();
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = () => {
    behind = undefined;
    for (const socket of sockets) socket.destroy();
  };
  atEnd(() => {
    close();
    server.close();
  });
  return {
    url: `http://${HOST}:${(server.address() as AddressInfo).port}`,
    get passages() {
      return passages;
    },
    open(url) {
      close();
      passages = [];
      behind = new URL(url);
    },
    close,
  };
}
