// When a snapshot of a virtual machine counts, and what makes it lost, corrupted or one of another version.
import { chmodSync, mkdirSync, readFileSync, rmSync, statSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { MachineFiles } from '../../src/platform/machines/drivers/qemu/machine-files.ts';
import { checkSnapshot } from '../../src/platform/machines/drivers/qemu/snapshots/check-snapshot.ts';
import { readDiskStamps } from '../../src/platform/machines/drivers/qemu/snapshots/disk-stamps.ts';
import { receiveState } from '../../src/platform/machines/drivers/qemu/snapshots/receive-state.ts';
import {
  readSnapshotManifest,
  removeSnapshotManifest,
  type SnapshotManifest,
  writeSnapshotManifest,
} from '../../src/platform/machines/drivers/qemu/snapshots/snapshot-manifest.ts';
import { sumFile } from '../../src/platform/machines/drivers/qemu/snapshots/sum-file.ts';
import { sumInThread } from '../../src/platform/machines/drivers/qemu/snapshots/sum-in-thread.ts';
import { tempDir } from '../support/temp-dir.ts';

const MB = 1024 * 1024;
const use = {
  machine: 'm1',
  instance_id: 'i1',
  emulator: 'QEMU 7.2',
  driver: 1,
  memory_mb: 3,
  network: 'none',
} as const;

/** A machine of 3 MB, of which the second is used, with its snapshot. */
async function makeSnapshot(change: Partial<SnapshotManifest> = {}) {
  const files = new MachineFiles(join(tempDir(), 'm1'));
  mkdirSync(files.dir);
  const memory = Buffer.alloc(3 * MB);
  memory.write('something', MB + 17);
  writeFileSync(files.memory, memory);
  writeFileSync(files.state, 'state of the devices');
  writeFileSync(files.disk, 'disk');
  const plan = {
    accel: 'tcg',
    cpu: 'max',
    cpus: 1,
    memory_mb: 3,
    append: 'root=/dev/vda',
    kernel_args: [],
    volumes: [],
  } as const;
  const snapshot: SnapshotManifest = {
    machine: 'm1',
    instance_id: 'i1',
    emulator: 'QEMU 7.2',
    driver: 1,
    image_digest: 'sha256:0',
    plan: { ...plan, kernel_args: [], volumes: [] },
    memory: { ...sumFile(files.memory), sums: [...sumFile(files.memory).sums] },
    state: { ...sumFile(files.state), sums: [...sumFile(files.state).sums] },
    disks: await readDiskStamps(files, { ...plan, kernel_args: [], volumes: [] }),
    created_ms: 1_700_000_000_000,
    ...change,
  };
  await writeSnapshotManifest(files, snapshot);
  return { files, snapshot };
}

function flipBit(path: string, at: number): void {
  const bytes = readFileSync(path);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  const { atime, mtime } = statSync(path);
  writeFileSync(path, bytes);
  utimesSync(path, atime, mtime);
}

/** Two writes within a tick of the clock of the file system have the same time. */
function writeLater(path: string, text: string): void {
  const timeOf = () => statSync(path, { bigint: true }).mtimeNs;
  const before = timeOf();
  while (timeOf() === before) writeFileSync(path, text);
}

test('a snapshot that is what was written may be used, after any number of checks', async () => {
  const { files, snapshot } = await makeSnapshot();
  expect(await checkSnapshot(files, use)).toEqual(snapshot);
  expect(await checkSnapshot(files, use)).toEqual(snapshot);
  expect(statSync(files.manifest).mode & 0o777).toBe(0o600);
});

describe('a snapshot is not used', () => {
  test.each<[string, string, (files: MachineFiles) => unknown]>([
    ['without its description', 'lost', (files) => rmSync(files.manifest)],
    ['once its description was removed', 'lost', removeSnapshotManifest],
    ['without its memory', 'lost', (files) => rmSync(files.memory)],
    ['without its state', 'lost', (files) => rmSync(files.state)],
    ['with a bit of its memory flipped', 'corrupted', (files) => flipBit(files.memory, MB + 20)],
    ['with a bit flipped where the memory was empty', 'corrupted', (files) => flipBit(files.memory, 3 * MB - 1)],
    ['with a bit of its state flipped', 'corrupted', (files) => flipBit(files.state, 3)],
    ['with its memory cut short', 'corrupted', (files) => truncateSync(files.memory, 2 * MB)],
    ['with its memory made longer', 'corrupted', (files) => truncateSync(files.memory, 4 * MB)],
    ['with its state cut short', 'corrupted', (files) => truncateSync(files.state, 5)],
    ['with a state of no bytes', 'corrupted', (files) => truncateSync(files.state, 0)],
    ['with its disk written since', 'corrupted', (files) => writeLater(files.disk, 'disc')],
    ['without its disk', 'corrupted', (files) => rmSync(files.disk)],
    ['with a description cut short', 'corrupted', (files) => truncateSync(files.manifest, 300)],
    [
      'with a digit of its description changed',
      'corrupted',
      (files) => writeFileSync(files.manifest, readFileSync(files.manifest, 'utf8').replace('"cpus":1', '"cpus":2')),
    ],
  ])('%s: it is %s', async (_, cause, harm) => {
    const { files } = await makeSnapshot();
    await harm(files);
    expect(await checkSnapshot(files, use)).toBe(cause);
  });

  test.each<[string, string, Partial<SnapshotManifest>]>([
    ['of another machine', 'corrupted', { machine: 'm2' }],
    ['of an earlier boot', 'corrupted', { instance_id: 'i0' }],
    ['of another emulator', 'maintenance', { emulator: 'QEMU 8.0' }],
    ['of another driver', 'maintenance', { driver: 2 }],
    ['of a machine with another memory', 'corrupted', { memory: { size_bytes: 2 * MB, sums: [0, 0] } }],
  ])('%s: it is %s', async (_, cause, change) => {
    const { files } = await makeSnapshot(change);
    expect(await checkSnapshot(files, use)).toBe(cause);
  });

  test('of a machine with another way out: it is maintenance', async () => {
    const { files } = await makeSnapshot();
    expect(await checkSnapshot(files, { ...use, network: 'egress' })).toBe('maintenance');
  });
});

test('a description that was only begun is none', async () => {
  const { files, snapshot } = await makeSnapshot();
  await removeSnapshotManifest(files);
  writeFileSync(`${files.manifest}~`, JSON.stringify({ snapshot }));
  expect(await readSnapshotManifest(files)).toBeUndefined();
});

test('a file is summed by the megabyte, in a thread as here, and the first difference ends it', async () => {
  const path = join(tempDir(), 'file');
  const bytes = Buffer.alloc(2 * MB + 5, 'abc');
  writeFileSync(path, bytes);
  const sums = [0, 1, 2].map((block) => crc32(bytes.subarray(block * MB, (block + 1) * MB)));
  expect(sumFile(path)).toEqual({ size_bytes: 2 * MB + 5, sums });
  expect(await sumInThread(path)).toEqual({ size_bytes: 2 * MB + 5, sums });
  expect((await sumInThread(path, [0, 0, 0])).sums).toHaveLength(1);
  await expect(sumInThread(`${path}-gone`)).rejects.toMatchObject({ code: 'not_found' });
});

describe('the state of an emulator', () => {
  const dial = (files: MachineFiles) => connect({ path: join(files.dir, 'state.sock') });
  const makeFiles = () => {
    const files = new MachineFiles(join(tempDir(), 'm1'));
    mkdirSync(files.dir);
    return files;
  };

  test('takes the place of an earlier one, and is on the disk when it was received', async () => {
    const files = makeFiles();
    writeFileSync(files.state, 'earlier, and longer than what comes');
    {
      await using receiver = await receiveState(files, undefined);
      const emulator = dial(files);
      emulator.write('first ');
      emulator.end('second');
      await receiver.received;
    }
    expect(readFileSync(files.state, 'utf8')).toBe('first second');
    expect(statSync(files.state).mode & 0o777).toBe(0o600);
    expect(() => statSync(join(files.dir, 'state.sock'))).toThrow('ENOENT');
  });

  test('that nobody sends, or that cannot be written, is an error', async () => {
    const files = makeFiles();
    const receiver = await receiveState(files, undefined);
    await receiver[Symbol.asyncDispose]();
    await expect(receiver.received).rejects.toThrow('the emulator has not sent its state');
    mkdirSync(files.state);
    chmodSync(files.state, 0o755);
    await using blocked = await receiveState(files, undefined);
    dial(files)
      .on('error', () => undefined)
      .end('state');
    await expect(blocked.received).rejects.toThrow();
  });
});
