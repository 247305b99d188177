// Receives the state of an emulator into a file, over a socket that the emulator dials: it has no right to make a file or run a program.
import { createWriteStream } from 'node:fs';
import { chown, rm } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { RemoraError } from '../../../../../core/remora-error.ts';
import { type MachineFiles, STATE_SOCKET } from '../machine-files.ts';
import { openShortPath } from '../short-path.ts';

/** A state without the memory has less than a megabyte; a broken emulator could send for ever. */
const CAP_BYTES = 256 * 1024 * 1024;

export interface StateReceiver extends AsyncDisposable {
  /** Resolves when the emulator has sent everything and it is on the disk; rejects with the error of the disk. */
  readonly received: Promise<void>;
}

/**
 * Resolves when the emulator, which runs as `uid`, may dial `STATE_SOCKET`. Disposing of it ends what is still under way. The file takes
 * the place of an earlier one.
 */
export async function receiveState(files: MachineFiles, uid: number | undefined): Promise<StateReceiver> {
  const directory = openShortPath(files.dir);
  const socket = join(directory.path, STATE_SOCKET);
  await rm(socket, { force: true });
  const server = createServer({ pauseOnConnect: true });
  const connected = Promise.withResolvers<Socket>();
  connected.promise.catch(() => undefined);
  let dialled: Socket | undefined;
  server.once('connection', (connection) => {
    dialled = connection;
    connected.resolve(connection);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ path: socket }, resolve);
  });
  if (uid !== undefined) await chown(socket, uid, uid);
  const received = receive(connected.promise, files.state);
  received.catch(() => undefined);
  return {
    received,
    async [Symbol.asyncDispose]() {
      connected.reject(new RemoraError('internal', 'the emulator has not sent its state'));
      dialled?.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
      await received.catch(() => undefined);
      await rm(socket, { force: true });
      directory[Symbol.dispose]();
    },
  };
}

async function receive(connected: Promise<Socket>, target: string): Promise<void> {
  const connection = await connected;
  await rm(target, { force: true });
  const file = createWriteStream(target, { flags: 'wx', mode: 0o600, flush: true });
  await pipeline(connection, capped(), file);
}

function capped(): Transform {
  let bytes = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      if (bytes <= CAP_BYTES) return done(null, chunk);
      return done(new RemoraError('internal', 'the emulator sends a state without an end'));
    },
  });
}
