// What the process driver finds in the place of a machine's directory, and does not write to.
import {
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { Secret } from '../../src/core/secret.ts';
import { openMachineDirectory } from '../../src/platform/machines/drivers/process/machine-directory.ts';
import { createProcessDriver } from '../../src/platform/machines/drivers/process/process-driver.ts';
import { listProcessNotes, writeProcessNote } from '../../src/platform/machines/drivers/process/process-note.ts';
import { silentLog } from '../support/silent-log.ts';
import { tempDir } from '../support/temp-dir.ts';

const note = { instance_id: 'i1' };

it('is made with its parents for this user alone, and found again', () => {
  const dir = join(tempDir(), 'platform', 'machines');
  const path = openMachineDirectory(dir, 'm1');
  expect(path).toBe(join(dir, 'm1'));
  for (const made of [dir, path, join(path, 'state')]) expect(statSync(made).mode & 0o777).toBe(0o700);
  writeProcessNote(dir, 'm1', note);
  writeProcessNote(dir, 'm1', { ...note, pid: 7 });
  expect(listProcessNotes(dir).get('m1')).toMatchObject({ instance_id: 'i1', pid: 7 });
});

it.each(['m1', join('m1', 'state')])('a link in the place of %s is not followed', (name) => {
  const [dir, elsewhere] = [tempDir(), tempDir()];
  if (name !== 'm1') mkdirSync(join(dir, 'm1'));
  symlinkSync(elsewhere, join(dir, name));
  expect(() => openMachineDirectory(dir, 'm1')).toThrow(
    /is no directory, and links are not followed here; move it away/,
  );
  expect(readdirSync(elsewhere)).toEqual([]);
});

it.skipIf(process.geteuid?.() !== 0)('a directory of another user is not used', () => {
  const dir = tempDir();
  mkdirSync(join(dir, 'm1'));
  chownSync(join(dir, 'm1'), 65_534, 65_534);
  expect(() => openMachineDirectory(dir, 'm1')).toThrow(/belongs to user 65534; move it away/);
  expect(existsSync(join(dir, 'm1', 'state'))).toBe(false);
});

it('a link in the place of the note that is being written is replaced', () => {
  const [dir, elsewhere] = [tempDir(), tempDir()];
  const target = join(elsewhere, 'file');
  writeFileSync(target, 'kept');
  openMachineDirectory(dir, 'm1');
  symlinkSync(target, join(dir, 'm1', 'process.json~'));
  writeProcessNote(dir, 'm1', note);
  expect(readFileSync(target, 'utf8')).toBe('kept');
  expect(listProcessNotes(dir).get('m1')).toMatchObject(note);
});

it('no machine starts in a directory that is a link, and no token is written there', async () => {
  const [dir, elsewhere] = [tempDir(), tempDir()];
  symlinkSync(elsewhere, join(dir, 'm1'));
  let tokens = 0;
  const driver = createProcessDriver({
    dir,
    volumesDir: tempDir(),
    command: { command: process.execPath, args: ['-e', ''] },
    endMachines: true,
    log: silentLog,
    machinesUrl: () => 'http://127.0.0.1:1',
    createToken: async () => {
      tokens += 1;
      return new Secret('token');
    },
  });
  onTestFinished(() => driver[Symbol.asyncDispose]());
  const named = { id: 'm1', instance_id: 'i1', app: 'a', sprite: 's', region: 'r', private_ip: '::1', memory_mb: 256 };
  const spec = { ...named, config: {}, environment: {}, volumes: [], resetsRoot: false };
  await expect(driver.start(spec)).rejects.toThrow(/links are not followed/);
  expect(tokens).toBe(0);
  expect(readdirSync(elsewhere)).toEqual([]);
});
