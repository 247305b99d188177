// A port of the loopback address where nobody listens: for a process that must be told its port before it opens one.
import { type AddressInfo, createServer } from 'node:net';

export async function openFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const FIRST = 12_000;
const COUNT = 16_000;

/** One that the kernel gives to nobody who takes any: for a port that is opened a while later, and for one at which nobody must listen. */
export async function openQuietPort(host = '127.0.0.1'): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * COUNT);
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, host, () => resolve(true));
    });
    if (!isFree) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
}
