// Runs in a process of its own, started by listener-process.ts: opens and closes listeners as it is told over IPC.
import { spawn } from 'node:child_process';
import { openSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { flushCompileCache } from 'node:module';
import { type AddressInfo, createServer, type ListenOptions, type Server, type Socket } from 'node:net';

export type ListenerCommand =
  | { readonly do: 'listen'; readonly options: ListenOptions; readonly http?: boolean }
  | { readonly do: 'close'; readonly port: number }
  /** Gives the listener to a new process that sleeps, as a fork would. */
  | { readonly do: 'hand_down'; readonly port: number }
  | { readonly do: 'hold_descriptors'; readonly count: number }
  /** Opens and closes so many listeners, `width` at a time. */
  | { readonly do: 'flap'; readonly count: number; readonly width: number };

/** The port, the pid of the heir, or the number of listeners. */
export type ListenerAnswer =
  | { readonly id: number; readonly value: number }
  | { readonly id: number; readonly error: string };

const servers = new Map<number, Server[]>();
const connections = new Map<Server, Set<Socket>>();

async function listen(options: ListenOptions, http = false): Promise<number> {
  const server = http ? createHttpServer((_request, response) => response.writeHead(503).end()) : createServer();
  const sockets = new Set<Socket>();
  connections.set(server, sockets);
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options, resolve);
  });
  const { port } = server.address() as AddressInfo;
  servers.set(port, [...(servers.get(port) ?? []), server]);
  return port;
}

/** Closes the one of this port that was opened first, with its connections. */
async function close(port: number): Promise<number> {
  const [server, ...rest] = servers.get(port) ?? [];
  if (server === undefined) throw new Error(`nothing listens on ${port}`);
  servers.set(port, rest);
  const closed = new Promise((resolve) => server.close(resolve));
  for (const socket of connections.get(server) ?? []) socket.destroy();
  connections.delete(server);
  await closed;
  return port;
}

function handDown(port: number): number {
  const handle: { fd: number } = Reflect.get(servers.get(port)?.[0] ?? {}, '_handle');
  return spawn('sleep', ['300'], { stdio: ['ignore', 'ignore', 'ignore', handle.fd], detached: true }).pid ?? 0;
}

async function flap(count: number, width: number): Promise<number> {
  for (let done = 0; done < count; done += width) {
    const ports = await Promise.all(Array.from({ length: width }, () => listen({ port: 0, host: '127.0.0.1' })));
    await Promise.all(ports.map(close));
  }
  return count;
}

async function run(command: ListenerCommand): Promise<number> {
  switch (command.do) {
    case 'listen':
      return await listen(command.options, command.http);
    case 'close':
      return await close(command.port);
    case 'hand_down':
      return handDown(command.port);
    case 'hold_descriptors':
      for (let held = 0; held < command.count; held += 1) openSync('/dev/null', 'r');
      return command.count;
    case 'flap':
      return await flap(command.count, command.width);
  }
}

process.on('message', (message: ListenerCommand & { id: number }) => {
  const answer = (reply: ListenerAnswer) => process.send?.(reply);
  run(message).then(
    (value) => answer({ id: message.id, value }),
    (error: Error) => answer({ id: message.id, error: error.message }),
  );
});
process.on('disconnect', () => process.exit(0));
// It is killed, and would compile all of this at each start.
flushCompileCache();
