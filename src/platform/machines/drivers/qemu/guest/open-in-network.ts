// Opens listeners in the network of a machine, by a process that is started there and hands them over.
import { spawn } from 'node:child_process';
import { on } from 'node:events';
import type { Server } from 'node:net';
import { RemoraError } from '../../../../../core/remora-error.ts';

export interface NetworkListeners {
  /** A process that is in the network. */
  readonly pid: number;
  /** Whether the network belongs to a user namespace, which the one that opens a listener has to enter too. */
  readonly hasUserNamespace: boolean;
  /** The address of that network on which the listeners are. */
  readonly host: string;
  readonly ports: readonly number[];
}

const OPEN_MS = 10_000;

/** A listener for each of the ports, in their order. Throws `internal`. */
export async function openInNetwork({
  pid,
  hasUserNamespace,
  host,
  ports,
}: NetworkListeners): Promise<readonly Server[]> {
  const namespaces = [
    ...(hasUserNamespace ? ['--user', '--preserve-credentials'] : []),
    '--net',
    '--target',
    String(pid),
  ];
  const main = new URL('./listen-main.ts', import.meta.url).pathname;
  const child = spawn('nsenter', [...namespaces, '--', process.execPath, main, host, ...ports.map(String)], {
    cwd: '/',
    env: { PATH: process.env.PATH ?? '' },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  child.once('error', () => undefined);
  const servers: Server[] = [];
  try {
    for await (const [, handle] of on(child, 'message', {
      signal: AbortSignal.timeout(OPEN_MS),
      close: ['disconnect'],
    })) {
      if (handle === undefined) throw new Error('it sent no listener');
      servers.push(handle as Server);
      if (servers.length === ports.length) return servers;
    }
    throw new Error('it ended before it had sent every listener');
  } catch (cause) {
    child.kill('SIGKILL');
    for (const server of servers) server.close();
    throw new RemoraError('internal', 'no listener could be opened in the network of the machine', { cause });
  }
}
