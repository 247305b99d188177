// A port of the loopback address where nobody listens: for a process that must be told its port before it opens one.
import { type AddressInfo, createServer } from 'node:net';

export async function openFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
