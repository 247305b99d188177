// The built program that tests start: made once for each state of the sources, and found again by the runs that follow.
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { bundleProgram } from '../../src/cli/package/bundle.ts';
import { FRONT } from '../../src/cli/package/started-files.ts';

const root = new URL('../../', import.meta.url).pathname;
const builds = join(root, 'node_modules/.cache/remora-builds');
/** What the program finds beside its own directory. Packages are found further up. */
const BESIDE = ['package.json', 'node_modules/.bin/node'];
/** No run of the tests takes as long. */
const UNUSED_MS = 24 * 3_600_000;

/** Resolves with the path of the command. Two runs that begin at once may both build; one of both builds is used. */
export async function makeBuiltProgram(): Promise<string> {
  const dir = join(builds, toKey());
  if (existsSync(dir)) {
    const now = new Date();
    utimesSync(dir, now, now);
  } else {
    const early = `${dir}~${process.pid}`;
    for (const name of BESIDE) {
      mkdirSync(dirname(join(early, name)), { recursive: true });
      symlinkSync(join(root, name), join(early, name));
    }
    await bundleProgram({ root, to: join(early, 'dist'), hasMaps: false });
    place(early, dir);
  }
  removeUnused();
  return join(dir, 'dist', FRONT);
}

function toKey(): string {
  const hash = createHash('sha256');
  const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(?:[jt]s|sh)$/.test(name))
    .map((name) => join('src', name));
  for (const name of [...sources.sort(), 'bin/remora', 'package.json', 'package-lock.json']) {
    hash
      .update(`${name}\0`)
      .update(readFileSync(join(root, name)))
      .update('\0');
  }
  return hash.digest('hex').slice(0, 16);
}

function place(early: string, dir: string): void {
  try {
    renameSync(early, dir);
  } catch (error) {
    if (!existsSync(dir)) throw error;
    rmSync(early, { recursive: true });
  }
}

function removeUnused(): void {
  for (const name of readdirSync(builds)) {
    const path = join(builds, name);
    const used = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Infinity;
    if (Date.now() - used > UNUSED_MS) rmSync(path, { recursive: true, force: true });
  }
}
