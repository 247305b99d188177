// What bounds the logs of virtual machines, and what says that a volume has to grow.
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  statSync,
  truncateSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { capLog } from '../../src/platform/machines/drivers/qemu/cap-log.ts';
import { SUPERBLOCK_END, toFileSystemBytes } from '../../src/platform/machines/drivers/qemu/file-system-size.ts';
import { createReservations } from '../../src/platform/machines/drivers/qemu/reservations.ts';
import { tempDir } from '../support/temp-dir.ts';

const MB = 1024 * 1024;

test('a log that is too long goes to one older file, and its writer goes on at the new end', async () => {
  const path = join(tempDir(), 'agent.log');
  await capLog(path, 10);
  expect(existsSync(path)).toBe(false);
  const writer = openSync(path, 'a', 0o600);
  writeSync(writer, 'first\n');
  await capLog(path, 10);
  expect(existsSync(`${path}.1`)).toBe(false);
  for (const [line, older] of [
    ['second\n', 'first\nsecond\n'],
    ['third and fourth\n', 'third and fourth\n'],
  ] as const) {
    writeSync(writer, line);
    await capLog(path, 10);
    expect(readFileSync(`${path}.1`, 'utf8')).toBe(older);
    expect(statSync(path).size).toBe(0);
  }
  writeSync(writer, 'last\n');
  closeSync(writer);
  expect(readFileSync(path, 'utf8')).toBe('last\n');
});

test('of a log that grew for long only the end is kept', async () => {
  const path = join(tempDir(), 'agent.log');
  appendFileSync(path, '');
  truncateSync(path, 64 * MB);
  appendFileSync(path, 'the end');
  await capLog(path);
  expect(statSync(`${path}.1`).size).toBe(4 * MB);
  expect(readFileSync(`${path}.1`).subarray(-7).toString()).toBe('the end');
  expect(statSync(path).size).toBe(0);
});

test('the size of a file system is that of its disk until the disk grows', () => {
  const disk = join(tempDir(), 'volume.raw');
  const start = () => readFileSync(disk).subarray(0, SUPERBLOCK_END);
  execFileSync('truncate', ['-s', '32M', disk]);
  expect(toFileSystemBytes(start())).toBeUndefined();
  execFileSync('mke2fs', ['-q', '-F', '-t', 'ext4', disk]);
  expect(toFileSystemBytes(start())).toBe(BigInt(statSync(disk).size));
  truncateSync(disk, 64 * MB);
  expect(toFileSystemBytes(start())).toBe(BigInt(32 * MB));
  execFileSync('resize2fs', [disk], { stdio: 'ignore' });
  expect(toFileSystemBytes(start())).toBe(BigInt(64 * MB));
  expect(toFileSystemBytes(Buffer.alloc(100))).toBeUndefined();
  const odd = Buffer.from(start());
  odd.writeUInt32LE(200, 1_024 + 0x18);
  expect(toFileSystemBytes(odd)).toBeUndefined();
});

test('machines that were found have their memory, and none of them goes on where the host has too little now', () => {
  const reservations = createReservations(128);
  for (const id of ['m1', 'm2']) reservations.take(id, 96);
  expect(() => reservations.reserve('m1', 96)).toThrow(/needs 96 MB, and this host has 32 MB of its 128 MB free/);
  reservations.release('m2');
  reservations.reserve('m1', 96);
  expect(reservations.reserved_mb).toBe(96);
});
