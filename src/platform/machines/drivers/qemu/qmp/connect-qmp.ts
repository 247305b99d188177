// Connects to the control socket of an emulator that may have been started by an earlier platform process.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { RemoraError } from '../../../../../core/remora-error.ts';
import { QMP_SOCKET } from '../machine-files.ts';
import { openShortPath } from '../short-path.ts';
import { openQmpClient, type QmpClient } from './qmp-client.ts';

const CONNECT_MS = 5_000;

/** `dir`: the directory of the machine. Throws `internal` when nothing answers there. */
export async function connectQmp(dir: string): Promise<QmpClient> {
  using directory = openShortPath(dir);
  return await openQmpClient(await open(join(directory.path, QMP_SOCKET)));
}

async function open(path: string): Promise<Socket> {
  const socket = connect({ path });
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(CONNECT_MS) });
    return socket;
  } catch (cause) {
    socket.destroy();
    throw new RemoraError('internal', 'the control socket of the machine does not answer', { cause });
  }
}
