// The process that opens a listener in the network of a machine and hands it to the platform, started there by guest-listener.ts. Its argument is the
// address that it listens on.
import { createServer } from 'node:net';
import { PLATFORM_PORT } from './guest-network.ts';

const [host] = process.argv.slice(2);
const server = createServer();
server.once('error', (error) => {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
  process.disconnect?.();
});
server.listen({ host, port: PLATFORM_PORT }, () => {
  // Its own copy is closed at once: a connection that this process took would be nobody's.
  process.send?.({ type: 'listening' }, server, {}, () => {
    server.close();
    process.disconnect?.();
  });
});
