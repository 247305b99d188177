import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { ask } from '../support/ask.ts';
import { loudly } from '../support/loudly.ts';
import { remoraPath } from '../support/run-remora.ts';
import { tempDir } from '../support/temp-dir.ts';

const missing = loudly(
  spawnSync('systemd-socket-activate', ['--version']).status !== 0,
  'systemd-socket-activate is missing: socket activation is not tried',
);

it.skipIf(missing)(
  'serves callers that came before the daemon, on the sockets it was handed, and leaves the files',
  async () => {
    const dir = tempDir();
    const paths = { main: join(dir, 'main.sock'), readonly: join(dir, 'readonly.sock') };
    const own = join(dir, 'never.sock');
    const child = spawn(
      'systemd-socket-activate',
      [
        ...['-l', paths.main, '-l', paths.readonly, '--fdname=remora:readonly'],
        ...[
          '-E',
          `REMORA_SOCKET=${own}`,
          '-E',
          `REMORA_STATE_DIR=${join(dir, 'state')}`,
          '-E',
          'REMORA_LOG_LEVEL=silent',
        ],
        ...[process.execPath, remoraPath, 'agent'],
      ],
      { stdio: 'ignore' },
    );
    onTestFinished(() => void child.kill('SIGKILL'));
    await expect.poll(() => existsSync(paths.readonly)).toBe(true);
    // A path is there a moment before its socket takes connections.
    await sleep(100);

    // All three are in the queue before the daemon exists: the first of them starts it.
    const answers = await Promise.all([
      ask(paths.main, { target: '/v1/health' }),
      ask(paths.readonly, { target: '/v1/status' }),
      ask(paths.readonly, { method: 'POST', target: '/v1/machine/suspend' }),
    ]);
    expect(answers[0]).toMatchObject({ status: 200, json: { status: 'ok' } });
    expect(answers[1]).toMatchObject({ status: 200, json: { pid: child.pid } });
    expect(answers[2]).toMatchObject({ status: 403, json: { error: 'read_only' } });
    expect(existsSync(own)).toBe(false);

    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
    expect(existsSync(paths.main)).toBe(true);
  },
);
