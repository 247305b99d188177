// A listener on a Unix socket that an emulator inherits: it has no right to make one.
import { renameSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { RemoraError } from '../../../../../core/remora-error.ts';
import { socketDescriptor } from '../../../../../http/socket-descriptor.ts';
import { openShortPath } from '../short-path.ts';

export interface InheritedListener extends AsyncDisposable {
  readonly descriptor: number;
}

/** Listens on `name` in the directory of a machine. Disposing of it leaves the emulator's copy open, and the file. */
export async function openInheritedListener(dir: string, name: string): Promise<InheritedListener> {
  const early = `${name}~`;
  for (const each of [early, name]) rmSync(join(dir, each), { force: true });
  const directory = openShortPath(dir);
  const server = createServer();
  const close = async () => {
    await new Promise<void>((resolve) => server.close(() => resolve()));
    directory[Symbol.dispose]();
  };
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ path: join(directory.path, early) }, resolve);
    });
    // Closing the listener removes the file by the name that it was made with.
    renameSync(join(dir, early), join(dir, name));
    return { descriptor: toDescriptor(server), [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    throw error;
  }
}

function toDescriptor(server: Server): number {
  const descriptor = socketDescriptor(server);
  if (descriptor === undefined) throw new RemoraError('internal', 'the control socket of the machine is not open');
  return descriptor;
}
