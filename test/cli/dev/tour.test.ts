// The lines of the README's tour that are words of the command, as pasted, with a `remora dev` of its own.
import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { startDev } from '../../support/dev-process.ts';
import { openFreePort } from '../../support/free-port.ts';
import { loudly } from '../../support/loudly.ts';
import { memoryDir } from '../../support/memory-dir.ts';
import { readmeLines, top } from '../../support/readme-lines.ts';

const lines = [...readmeLines('Keep a server up'), ...readmeLines('Buy a key-value store')];
const hasPython = spawnSync('python3', ['--version']).status === 0;

it.skipIf(loudly(!hasPython, 'no python3: the tour is not tried'))('works as pasted', async () => {
  const dir = memoryDir();
  await using dev = await startDev({ dir });
  const { socket, platform_url, token } = dev.record;
  const port = String(await openFreePort());
  const script = lines.map((line) => line.replaceAll('8123', port).replaceAll('/tmp/remora-dev', dir)).join('\n');
  expect(lines.length).toBeGreaterThan(8);
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
    .replaceAll(dev.record.extension_provider.base_url, 'PROVIDER')
    .replaceAll(/(ext|kv)_[0-9a-f]+/g, '$1_ID')
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
      ...['name       my-kv', 'id         ext_ID', 'provider   sample', 'state      ready', 'status     ready'],
      ...['plan       free', 'app        dev', 'variables  SAMPLE_KV_TOKEN SAMPLE_KV_URL'],
      'hi',
      'PROVIDER/extensions/kv_ID/sso',
      'my-kv is deleted',
      '',
    ],
  });
});
