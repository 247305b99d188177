// Copies the disk of a machine that runs, as it is at one moment, while the machine goes on writing. The emulator does it: before it lets
// the machine write over something that is not copied yet, it copies that. The result lies on the same disk as the copied one.
//
//   make an empty disk ──▶ copy ──▶ take it from the emulator ──▶ name it
import { chmod, open, rename, rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { RemoraError } from '../../../../core/remora-error.ts';
import { syncDirectory } from '../durable-json.ts';
import { diskOf } from './checkpoint-records.ts';
import { type DiskPlace, makeOverlay, readBackingOf } from './disk-chain.ts';
import type { MachineFiles } from './machine-files.ts';
import type { QmpClient } from './qmp/qmp-client.ts';

/** The name of the job, of the disk in the emulator, and of its file. */
const COPY = 'copy';
const FILE = 'copy.qcow2';
const MB = 1024 * 1024;
/** Room for what the machine writes during the copy, and for the records. */
const SPARE_BYTES = 64 * MB;
const LOOK_MS = 20;
const LOOK_MAX_MS = 500;
const FULL = /No space left on device|Disk quota exceeded/;

const jobs = z.array(
  z.object({
    id: z.string(),
    status: z.string(),
    'current-progress': z.number(),
    'total-progress': z.number(),
    error: z.string().optional(),
  }),
);
type Job = z.infer<typeof jobs>[number];

export interface DiskCopy extends DiskPlace {
  readonly qmp: QmpClient;
  readonly signal: AbortSignal;
  readonly onProgress: (line: string) => void;
  /** Runs before each step. */
  readonly onStep: (step: string) => void;
}

/** The copy is `id`'s when it resolves, and nothing is left of it when it rejects. Throws `storage_full`, and `internal` when the emulator ends. */
export async function copyDisk(copy: DiskCopy, id: string): Promise<void> {
  const { files, qmp, onStep } = copy;
  await checkRoom(files);
  onStep('make a disk for the copy');
  await makeOverlay(copy, 'disk.qcow2', FILE, await readBackingOf(files));
  try {
    await qmp.execute('blockdev-add', {
      driver: 'qcow2',
      'node-name': COPY,
      file: { driver: 'file', filename: FILE },
    });
    onStep('copy the disk');
    await run(copy);
    onStep('take the copy from the emulator');
    await qmp.execute('blockdev-del', { 'node-name': COPY });
    const path = join(files.dir, FILE);
    {
      await using handle = await open(path, 'r');
      await handle.sync();
    }
    await chmod(path, 0o440);
    onStep('name the copy');
    await rename(path, diskOf(files, id));
    await syncDirectory(files.dir);
  } catch (error) {
    await endCopy(files, qmp);
    throw error;
  }
}

/** Ends what an earlier copy has left: `qmp` is of the emulator that may still be at it. Does nothing when nothing is left. */
export async function endCopy(files: MachineFiles, qmp?: QmpClient): Promise<void> {
  if (qmp !== undefined) await endJob(qmp).catch(() => undefined);
  await rm(join(files.dir, FILE), { force: true });
}

async function endJob(qmp: QmpClient): Promise<void> {
  if ((await findJob(qmp)) !== undefined) {
    await qmp.execute('block-job-cancel', { device: COPY, force: true }).catch(() => undefined);
    await concluded(qmp, () => undefined);
    await qmp.execute('job-dismiss', { id: COPY });
  }
  await qmp.execute('blockdev-del', { 'node-name': COPY });
}

async function run({ qmp, signal, onProgress }: DiskCopy): Promise<void> {
  const settings = { 'job-id': COPY, device: 'root', target: COPY, sync: 'top', 'auto-dismiss': false };
  await qmp.execute('blockdev-backup', settings);
  const { error } = await concluded(qmp, (job) => {
    signal.throwIfAborted();
    onProgress(toProgress(job));
  });
  await qmp.execute('job-dismiss', { id: COPY });
  if (error === undefined) return;
  if (FULL.test(error)) throw toFull(error);
  throw new RemoraError('internal', `the emulator cannot copy the disk: ${error}`);
}

async function concluded(qmp: QmpClient, onLook: (job: Job) => void): Promise<Job> {
  for (let pause_ms = LOOK_MS; ; pause_ms = Math.min(LOOK_MAX_MS, pause_ms * 2)) {
    const job = await findJob(qmp);
    if (job === undefined) throw new RemoraError('internal', 'the emulator does not know the copy any more');
    if (job.status === 'concluded') return job;
    onLook(job);
    await sleep(pause_ms);
  }
}

async function findJob(qmp: QmpClient): Promise<Job | undefined> {
  return jobs.parse(await qmp.execute('query-jobs')).find(({ id }) => id === COPY);
}

function toProgress(job: Job): string {
  const [done, all] = [job['current-progress'], job['total-progress']].map((bytes) => Math.ceil(bytes / MB));
  return `${done} of ${all} MB are copied`;
}

/** A copy that finds no room in the middle would stop the machine until it is given up. */
async function checkRoom(files: MachineFiles): Promise<void> {
  const [{ bavail, bsize }, { blocks }] = await Promise.all([statfs(files.dir), stat(files.disk)]);
  if (bavail * bsize < blocks * 512 + SPARE_BYTES) throw toFull();
}

function toFull(cause?: string): RemoraError {
  return new RemoraError('storage_full', 'the disk of the machines is full; nothing was changed', { cause });
}
