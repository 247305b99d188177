// Writes to the state directory to see whether its disk works. A disk that hangs holds one thread of the pool, and no second one.
import fs from 'node:fs';
import { join } from 'node:path';

const NAME = '.check';

export interface DiskProbe {
  /** Resolves when the disk has answered, which is never while it hangs. Who asks meanwhile gets the same answer. */
  ask(): Promise<'ok' | 'failing'>;
}

/** `write` replaces the write, for tests of a disk that hangs. */
export function createDiskProbe(stateDir: string, write: (path: string) => Promise<void> = writeAndSync): DiskProbe {
  const path = join(stateDir, NAME);
  let writing: Promise<'ok' | 'failing'> | undefined;
  return {
    ask() {
      writing ??= write(path)
        .then(
          () => 'ok' as const,
          () => 'failing' as const,
        )
        .finally(() => {
          writing = undefined;
        });
      return writing;
    },
  };
}

/** Node loads these functions when they are first asked for, which its watch does after the start. */
async function writeAndSync(path: string): Promise<void> {
  const file = await fs.promises.open(path, 'w', 0o600);
  try {
    await file.write('check');
    await file.sync();
  } finally {
    await file.close();
  }
  await fs.promises.rm(path, { force: true });
}
