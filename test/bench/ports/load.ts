// Holds listeners and established connections, both ends of each: `load.ts LISTENERS CONNECTIONS`. Says `ready` over IPC.
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

const [listeners = 0, connections = 0] = process.argv.slice(2).map(Number);
const kept: Socket[] = [];
const ports: number[] = [];
for (let opened = 0; opened < listeners; opened += 1) {
  const server = createServer((socket) => kept.push(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (typeof address === 'object' && address !== null) ports.push(address.port);
}
for (let made = 0; made < connections; made += 1) {
  const socket = connect(ports[made % ports.length] ?? 0, '127.0.0.1');
  await once(socket, 'connect');
  kept.push(socket);
}
process.send?.('ready');
process.on('disconnect', () => process.exit(0));
