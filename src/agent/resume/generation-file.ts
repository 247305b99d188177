// The generation as a file that programs can read and watch with inotify: rewritten by a rename, so that a reader never sees
// half of it.
import { renameSync, rmSync, writeFileSync } from 'node:fs';

export interface GenerationFile extends Disposable {
  /** Throws when it cannot be written. */
  write(generation: number): void;
}

/** The number and a line end. The file is removed with the agent: a generation of nobody means nothing. */
export function createGenerationFile(path: string): GenerationFile {
  return {
    write(generation) {
      const early = `${path}~`;
      writeFileSync(early, `${generation}\n`, { mode: 0o644 });
      renameSync(early, path);
    },
    [Symbol.dispose]() {
      rmSync(path, { force: true });
    },
  };
}
