// A door before a platform: passes connections on to a port that a test may change, and keeps what callers sent.
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { atEnd } from './at-end.ts';

export interface TcpDoor {
  readonly url: string;
  /** What came in from all callers so far. */
  sent(): string;
  /** Cuts every connection, and passes the next ones on to this port. */
  lead(port: number): void;
  /** Does what `lead` does to later connections, and leaves those that are open. */
  leadNext(port: number): void;
}

export async function openTcpDoor(port = 0): Promise<TcpDoor> {
  let target = port;
  let sent = '';
  const open = new Set<Socket>();
  const server = createServer((caller) => {
    const onward = connect(target, '127.0.0.1');
    for (const [socket, other] of [
      [caller, onward],
      [onward, caller],
    ] as const) {
      open.add(socket);
      socket.on('error', () => other.destroy());
      socket.once('close', () => {
        open.delete(socket);
        other.destroy();
      });
    }
    caller.on('data', (chunk) => {
      sent += chunk.toString('latin1');
    });
    caller.pipe(onward).pipe(caller);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = () => {
    for (const socket of open) socket.destroy();
  };
  atEnd(async () => {
    cut();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    sent: () => sent,
    leadNext(next) {
      target = next;
    },
    lead(next) {
      target = next;
      cut();
    },
  };
}
