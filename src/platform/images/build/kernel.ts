// A kernel of Debian for virtual machines with its modules: taken out of its package, which is not installed.
import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { RemoraError } from '../../../core/remora-error.ts';
import { runTool } from '../../../linux/processes/run-tool.ts';
import type { BuildStep } from './build-step.ts';

export interface Kernel {
  /** The whole version, such as `6.1.0-56-cloud-amd64`. */
  readonly version: string;
  /** The unpacked package. */
  readonly dir: string;
}

export interface KernelOptions {
  readonly cacheDir: string;
  /** A Debian that knows where its packages are. */
  readonly base: string;
  /** The first two numbers of the version, for example `6.1`. */
  readonly series: string;
  readonly fresh: boolean;
  readonly step: BuildStep;
}

const ARCHIVES = 'var/cache/apt/archives';
const LIMIT_MS = 10 * 60_000;

/** Throws `invalid_request` when the Debian has no such kernel. */
export async function fetchKernel({ cacheDir, base, series, fresh, step }: KernelOptions): Promise<Kernel> {
  const name = await findPackage(base, series);
  const version = name.slice('linux-image-'.length);
  const dir = join(cacheDir, `kernel-${version}`);
  if (fresh) await rm(dir, { recursive: true, force: true });
  if (existsSync(dir)) return { version, dir };
  step(`kernel ${version}`);
  const early = `${dir}~${process.pid}`;
  try {
    await runTool('chroot', [base, 'sh', '-c', `cd /${ARCHIVES} && rm -f ${name}_* && apt-get download ${name}`], {
      limit_ms: LIMIT_MS,
    });
    const archive = (await readdir(join(base, ARCHIVES))).find((file) => file.startsWith(`${name}_`));
    if (archive === undefined) throw new RemoraError('internal', `apt-get has not brought ${name}`);
    await mkdir(early);
    await runTool('dpkg-deb', ['-x', join(base, ARCHIVES, archive), early]);
    await rm(join(base, ARCHIVES, archive));
    await runTool('depmod', ['-b', early, version]);
    await rename(early, dir);
  } finally {
    await rm(early, { recursive: true, force: true });
  }
  return { version, dir };
}

/** The newest of a series: what one of Debian's two packages that name it depends on. */
async function findPackage(base: string, series: string): Promise<string> {
  const metas = ['linux-image-cloud-amd64', `linux-image-${series}-cloud-amd64`];
  const wanted = new RegExp(`^\\s*Depends: (linux-image-${series.replaceAll('.', '\\.')}\\.\\S+)$`, 'm');
  for (const meta of metas) {
    const said = await runTool('chroot', [base, 'apt-cache', 'depends', meta]).catch(() => '');
    const found = wanted.exec(said.toString())?.[1];
    if (found !== undefined) return found;
  }
  throw new RemoraError(
    'invalid_request',
    `this Debian has no kernel ${series} for virtual machines; try --kernel 6.1 or 6.12`,
  );
}
