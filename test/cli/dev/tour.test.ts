// The lines of the README's tour that are words of the command, as pasted, with a `remora dev` of its own.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startDev } from '../../support/dev-process.ts';
import { openFreePort } from '../../support/free-port.ts';
import { loudly } from '../../support/loudly.ts';
import { tempDir } from '../../support/temp-dir.ts';

const top = new URL('../../../', import.meta.url).pathname;
const tour = /^Keep a server up[\s\S]*?```console\n([\s\S]*?)```/m.exec(
  readFileSync(join(top, 'README.md'), 'utf8'),
)?.[1];
const lines = (tour ?? '').split('\n').filter((line) => line.startsWith('$ '));
const hasPython = spawnSync('python3', ['--version']).status === 0;

it.skipIf(loudly(!hasPython, 'no python3: the tour is not tried'))('works as pasted', async () => {
  await using dev = await startDev({ dir: tempDir() });
  const { socket, platform_url, token } = dev.record;
  const port = String(await openFreePort());
  const script = lines.map((line) => line.slice(2).replaceAll('8123', port)).join('\n');
  expect(lines.length).toBeGreaterThan(4);
  const run = spawnSync('sh', ['-e', '-c', script], {
    cwd: top,
    encoding: 'utf8',
    env: {
      PATH: process.env.PATH ?? '',
      HOME: '/nonexistent',
      REMORA_SOCKET: socket,
      REMORA_URL: platform_url,
      REMORA_API_TOKEN: token,
    },
  });
  const shown = run.stdout
    .replaceAll(/pid \d+/g, 'pid N')
    .replaceAll(port, 'PORT')
    .split('\n');
  expect({ status: run.status, shown }, run.stderr).toEqual({
    status: 0,
    shown: [
      'Serving HTTP on 0.0.0.0 port PORT (http://0.0.0.0:PORT/) ...',
      'web is running, pid N',
      'Checkpoint v0 created',
      'hello',
      'Linux',
      'Checkpoint v0 restored',
      'hello',
      'web is deleted; its log file is kept',
      '',
    ],
  });
});
