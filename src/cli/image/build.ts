// `remora image build`.
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { runTool } from '../../linux/processes/run-tool.ts';
import { buildImage } from '../../platform/images/build/build-image.ts';
import { DISK_LIMIT_BYTES } from '../../platform/images/check-disk.ts';
import { toImagesDir } from '../../platform/images/image-store.ts';
import type { Invocation } from '../command.ts';
import { exitCode, UsageError } from '../exit-code.ts';
import { parseWhole } from '../number-flag.ts';
import { toPlatformDir } from '../platform/platform-dir.ts';

/** A checkout, or what the package has installed. */
const OWN_TREE = new URL('../../../', import.meta.url).pathname.replace(/\/$/, '');
/** Makes of a checkout what is installed. In what is installed it is not there. */
const PACKAGE_PROGRAM = join(OWN_TREE, 'src/cli/package/package.ts');
const LIMIT_MS = 5 * 60_000;
const CACHE = '/var/cache/remora-images';
const SIZE_MB = 4_096;
const LEAST_MB = 1_024;
const WORD = /^[a-z0-9][a-z0-9.+-]*$/;

export async function build(invocation: Invocation): Promise<number> {
  const work = mkdtempSync(join(tmpdir(), 'remora-agent-'));
  try {
    return await buildOf(await makeSource(work), invocation);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** The agent as it is installed. */
async function makeSource(work: string): Promise<string> {
  if (!existsSync(PACKAGE_PROGRAM)) return OWN_TREE;
  const tree = join(work, 'tree');
  await runTool(process.execPath, [PACKAGE_PROGRAM, '--tree', tree], { limit_ms: LIMIT_MS });
  return tree;
}

async function buildOf(source: string, invocation: Invocation): Promise<number> {
  const { operands, out, env, text, texts, has } = invocation;
  const began = performance.now();
  const add = text('add');
  const name = operands[0] ?? 'default';
  const imagesDir = toImagesDir(toPlatformDir(invocation));
  const manifest = await buildImage({
    imagesDir,
    cacheDir: resolve(text('cache') ?? env.REMORA_IMAGE_CACHE ?? CACHE),
    name,
    source,
    suite: toWord('suite', text('suite') ?? 'bookworm'),
    kernel: toWord('kernel', text('kernel') ?? '6.12'),
    size_mb: parseWhole('size', text('size'), SIZE_MB, LEAST_MB, DISK_LIMIT_BYTES / 1024 ** 2),
    packages: texts('package').map((each) => toWord('package', each)),
    add: add === undefined ? undefined : resolve(add),
    fresh: has('fresh'),
    step: (what) => out.note(`${toSeconds(performance.now() - began)} ${what}`),
    now: () => new Date(),
  });
  const { kernel_version, agent_version, digest } = manifest;
  out.line(`${imagesDir}/${name}: kernel ${kernel_version}, agent ${agent_version}, files ${digest}`);
  return exitCode.ok;
}

/** It becomes part of a command line of a tool. */
function toWord(flag: string, given: string): string {
  if (WORD.test(given)) return given;
  throw new UsageError(`--${flag}: ${JSON.stringify(given)} is no name of a ${flag}`);
}

function toSeconds(ms: number): string {
  return `${(ms / 1000).toFixed(0).padStart(4)} s`;
}
