// The process that opens listeners in the network of a machine and hands them to the platform, started there by guest-listener.ts. The
// address and the ports are its arguments.
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

const [host, ...ports] = process.argv.slice(2);

async function listen(port: number): Promise<Server> {
  const server = createServer();
  server.listen({ host, port });
  await once(server, 'listening');
  return server;
}

/** Its own copy is closed at once: a connection that this process took would be nobody's. */
async function hand(server: Server): Promise<void> {
  await new Promise((resolve) => process.send?.({ type: 'listening' }, server, {}, resolve));
  server.close();
}

async function main(): Promise<void> {
  try {
    for (const port of ports) await hand(await listen(Number(port)));
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  } finally {
    process.disconnect?.();
  }
}

void main();
