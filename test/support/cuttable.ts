// A TCP hop before a server that can be cut in the middle of a connection.
import { connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

export interface Cuttable {
  readonly url: string;
  /** Bytes that have come from the server. */
  readonly received_bytes: number;
  /** Breaks every connection off. */
  cut(): void;
}

/** `most_bytes`: the connection is cut when more than that has come from the server. */
export async function openCuttable(url: string, most_bytes = Number.POSITIVE_INFINITY): Promise<Cuttable> {
  const { hostname, port } = new URL(url);
  const sockets = new Set<Socket>();
  let received_bytes = 0;
  const cut = () => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  const server = createServer((near) => {
    const far = connect({ host: hostname, port: Number(port) });
    for (const socket of [near, far]) sockets.add(socket.on('error', () => undefined));
    near.pipe(far);
    far.on('data', (bytes) => {
      received_bytes += bytes.length;
      if (received_bytes > most_bytes) cut();
      else if (!near.write(bytes)) far.pause();
    });
    near.on('drain', () => far.resume());
    near.on('close', () => far.destroy());
    far.on('close', () => near.end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    cut();
    server.close();
  });
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`,
    get received_bytes() {
      return received_bytes;
    },
    cut,
  };
}
