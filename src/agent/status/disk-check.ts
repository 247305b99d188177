// Writes to the state directory to see whether its disk works. A disk that hangs holds one thread of the pool, and no second one.
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { checkOperations } from '../../contract/local/check.ts';
import type { Clock } from '../../core/clock.ts';
import type { Handlers } from '../../http/handler.ts';

export interface DiskCheckOptions {
  readonly stateDir: string;
  readonly clock: Clock;
  readonly limit_ms?: number;
  /** Replaces the write, for tests of a disk that hangs. */
  readonly write?: (path: string) => Promise<void>;
}

const LIMIT_MS = 2_000;
const NAME = '.check';

export function createDiskCheck(options: DiskCheckOptions): Handlers<typeof checkOperations, unknown> {
  const { clock, limit_ms = LIMIT_MS, write = writeAndSync } = options;
  const path = join(options.stateDir, NAME);
  let writing: Promise<'ok' | 'failing'> | undefined;

  function begin(): Promise<'ok' | 'failing'> {
    writing ??= write(path)
      .then(
        () => 'ok' as const,
        () => 'failing' as const,
      )
      .finally(() => {
        writing = undefined;
      });
    return writing;
  }

  return {
    async checkAgent() {
      const begun_ms = clock.mono_ms();
      const late = Promise.withResolvers<'wedged'>();
      const timer = setTimeout(() => late.resolve('wedged'), limit_ms);
      const disk = await Promise.race([begin(), late.promise]);
      clearTimeout(timer);
      return { disk, elapsed_ms: Math.round(clock.mono_ms() - begun_ms) };
    },
  };
}

async function writeAndSync(path: string): Promise<void> {
  const file = await open(path, 'w', 0o600);
  try {
    await file.write('check');
    await file.sync();
  } finally {
    await file.close();
  }
  await rm(path, { force: true });
}
