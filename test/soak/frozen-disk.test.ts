// A disk that stops to answer: the agent serves on without it, systemd hears no more that it is well and ends it, and it is back with
// all that it had when the disk is. Not with the other tests, because it makes a file system and stops it.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { loudly } from '../support/loudly.ts';
import { isWithoutSystemd, openSystemdContainer } from '../support/systemd-container.ts';

const curl = 'curl -sS --max-time 100 --unix-socket /run/remora/remora.sock';
const LATE_MS = 100_000;
const hasTools = ['mkfs.ext4', 'fsfreeze', 'mount'].every((tool) => spawnSync('which', [tool]).status === 0);
const missing = isWithoutSystemd() || loudly(!hasTools, 'mkfs.ext4 or fsfreeze is missing: no disk is stopped');

it.skipIf(missing)('an agent whose disk hangs is ended by systemd, and comes back with the disk', async () => {
  let mount = '';
  const box = await openSystemdContainer(['remora.service', 'remora.socket', 'remora-supervisor.socket'], (tree) => {
    mount = join(tree, 'var/lib/remora');
    const image = join(dirname(tree), 'disk');
    mkdirSync(mount);
    execFileSync('truncate', ['-s', '64M', image]);
    execFileSync('mkfs.ext4', ['-q', image]);
    execFileSync('mount', ['-o', 'loop', image, mount]);
    const directory = join(tree, 'etc/systemd/system/remora.service.d');
    mkdirSync(directory);
    writeFileSync(join(directory, 'soon.conf'), '[Service]\nWatchdogSec=4s\nTimeoutAbortSec=1s\n');
  });
  const thaw = () => void spawnSync('fsfreeze', ['-u', mount]);
  onTestFinished(async () => {
    thaw();
    await box.run('systemctl stop remora.socket remora').catch(() => undefined);
    execFileSync('umount', ['-l', mount]);
    await box[Symbol.asyncDispose]();
  });
  const show = async (property: string) => (await box.run(`systemctl show -P ${property} remora`)).trim();
  const log = () => box.run('journalctl -u remora -o cat --no-pager');

  await box.run('systemctl enable --now remora.socket remora');
  await box.run(
    `${curl} -X PUT -H 'content-type: application/json' -d '{"expire":"1h"}' http://localhost/v1/tasks/build`,
  );
  const pid = await show('MainPID');
  execFileSync('fsfreeze', ['-f', mount]);
  await eventually(async () => (await log()).includes('"msg":"the store does not answer'), LATE_MS);
  expect(await box.run(`${curl} http://localhost/v1/health`)).toBe('{"status":"ok"}\n');
  await eventually(async () => (await log()).includes('Watchdog timeout'), LATE_MS);
  const waiting = box.run(`${curl} http://localhost/v1/health`);
  thaw();
  expect(await waiting).toBe('{"status":"ok"}\n');
  await eventually(async () => (await show('ActiveState')) === 'active', LATE_MS);
  expect(await show('MainPID')).not.toBe(pid);
  expect(await show('NRestarts')).toBe('1');
  expect(await box.run(`${curl} http://localhost/v1/tasks/build`)).toContain('"name":"build"');
  expect(await box.run(`${curl} http://localhost/v1/ready`)).toContain('"store":{"state":"ok"');
});
