// Makes the program that is shipped out of the sources: few files of plain JavaScript, with those of the packages that it uses, in one directory.
// A part that the sources load at its first use is a file of its own. Native packages stay where they are installed.
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { rolldown } from 'rolldown';
import { toStartChunks } from './start-chunks.ts';
import { FRONT, LAUNCHER, takeStartedFiles } from './started-files.ts';

/** Code for one processor cannot be put into a file. */
export const nativePackages = ['better-sqlite3', '@lydell/node-pty'] as const;
const EXECUTABLE = 0o755;

export interface BundleOptions {
  /** The directory of the package. Ends with a slash. */
  readonly root: string;
  /** Made when it is not there; what lies in it stays. To run, the program needs the package one level above it. */
  readonly to: string;
  /** Whether each file gets a source map beside it. */
  readonly hasMaps: boolean;
}

/** Throws with what the bundler says of the sources. */
export async function bundleProgram({ root, to, hasMaps }: BundleOptions): Promise<void> {
  const bundle = await rolldown({
    cwd: root,
    input: { [FRONT]: join(root, 'src/cli/remora.js') },
    platform: 'node',
    external: [/^node:/, ...nativePackages.map((name) => new RegExp(`^${name}(?:/|$)`))],
    plugins: [takeStartedFiles(root)],
    // undici is built as for Node itself: without its second parser, which is for trials, and whose code is a fifth of a megabyte of text.
    transform: { define: { esbuildDetection: 'true' } },
    // What is doubtful for a bundler is wrong here: a file that cannot be found, or a name that is not exported.
    onLog(level, log) {
      if (level === 'warn') throw new Error(log.message);
    },
  });
  await using _ = bundle;
  await bundle.write({
    dir: to,
    // The modules of Node's own kind start in a seventh less time than those of the language.
    format: 'cjs',
    entryFileNames: '[name]',
    chunkFileNames: '[name].cjs',
    // A program that is replaced while it runs may load a newer file: a name that is gone there is an error, another one in its place is not.
    minifyInternalExports: false,
    // The text of a file stays in memory: without comments, and in one byte for each character.
    comments: { legal: true, annotation: false, jsdoc: false },
    charset: 'ascii',
    codeSplitting: { groups: toStartChunks(root) },
    sourcemap: hasMaps,
  });
  for (const name of [FRONT, LAUNCHER]) chmodSync(join(to, name), EXECUTABLE);
}
