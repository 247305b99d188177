// A program in the machine of a world that asks for names, dials addresses and keeps connections. Each line that it reads is a list of tasks, each
// line that it writes what came of them, in their order.
import { Resolver } from 'node:dns/promises';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';

export type WalkerTask =
  /** Says the addresses, sorted, or an error such as `EREFUSED`. */
  | { readonly type: 'ask'; readonly name: string; readonly server: string }
  /** Says `open` or an error such as `ECONNREFUSED`. With an id the connection stays. */
  | { readonly type: 'dial'; readonly address: string; readonly id?: string }
  /** Says `open` or `ended` of a connection that stayed, which is forgotten when it has. */
  | { readonly type: 'check'; readonly id: string };

const ECHO_PORT = 7;
const LIMIT_MS = 10_000;
const held = new Map<string, Socket>();

async function ask(name: string, server: string): Promise<string> {
  const resolver = new Resolver({ tries: 1, timeout: LIMIT_MS });
  resolver.setServers([server]);
  return (await resolver.resolve4(name)).sort().join();
}

function dial(address: string, id?: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: address, port: ECHO_PORT, timeout: LIMIT_MS });
    socket.once('timeout', () => socket.destroy(new Error('nothing came of it')));
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.off('error', reject).on('error', () => undefined);
      socket.resume().setTimeout(0);
      if (id === undefined) socket.destroy();
      else held.set(id, socket);
      resolve('open');
    });
  });
}

function check(id: string): Promise<string> {
  const socket = held.get(id);
  if (socket === undefined || socket.destroyed) return Promise.resolve('ended');
  return new Promise((resolve) => {
    const settle = (outcome: string) => {
      socket.off('data', onData).off('close', onClose);
      if (outcome === 'ended') held.delete(id);
      resolve(outcome);
    };
    const onData = () => settle('open');
    const onClose = () => settle('ended');
    socket.on('data', onData).on('close', onClose);
    socket.write('x');
  });
}

function carryOut(task: WalkerTask): Promise<string> {
  switch (task.type) {
    case 'ask':
      return ask(task.name, task.server);
    case 'dial':
      return dial(task.address, task.id);
    case 'check':
      return check(task.id);
    default:
      return task satisfies never;
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const outcomes: string[] = [];
  for (const task of JSON.parse(line) as WalkerTask[]) {
    outcomes.push(await carryOut(task).catch((error: NodeJS.ErrnoException) => error.code ?? `${error}`));
  }
  process.stdout.write(`${JSON.stringify(outcomes)}\n`);
}
