// Writes the generation to a file that programs can read and watch with inotify. Each change is a rename, so that a reader never
// sees half of it.
import { closeSync, fchmodSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { toErrorMessage } from '../../core/error-message.ts';
import { whyUntrusted } from '../../linux/trusted-path.ts';

/** Every user may read the file, whatever the umask of this process is. */
const MODE = 0o644;

export interface GenerationFile extends Disposable {
  /** Throws when the file cannot be written, or lies where another user may put a link in its place. */
  write(generation: number): void;
  /** `details.generation_file` of GET /v1/status. */
  describe(): { readonly path: string; readonly problem: string | null };
}

/** The file holds the number and a newline. It is removed when the agent ends, because nobody updates it then. */
export function createGenerationFile(path: string): GenerationFile {
  const early = `${path}~`;
  let problem: string | null = null;

  /** Exclusive creation follows no link. What an agent that was killed left behind is removed first. */
  function writeEarly(text: string): void {
    rmSync(early, { force: true });
    const file = openSync(early, 'wx', MODE);
    try {
      fchmodSync(file, MODE);
      writeSync(file, text);
    } finally {
      closeSync(file);
    }
  }

  return {
    write(generation) {
      problem = whyUntrusted(dirname(path)) ?? null;
      if (problem !== null) throw new Error(`${path} is not written: ${problem}`);
      try {
        writeEarly(`${generation}\n`);
        renameSync(early, path);
      } catch (error) {
        problem = toErrorMessage(error);
        throw error;
      }
    },
    describe: () => ({ path, problem }),
    [Symbol.dispose]() {
      try {
        if (whyUntrusted(dirname(path)) === undefined) rmSync(path, { force: true });
      } catch {
        // A directory that cannot be written to cannot be cleaned up either; `write` has reported it.
      }
    },
  };
}
