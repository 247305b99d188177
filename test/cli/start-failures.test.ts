// What keeps a command from its work is one line that names the file or the address, without a stack and without JSON.
import { mkdirSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { runHere } from '../support/run-here.ts';
import { runRemora } from '../support/run-remora.ts';
import { tempDir } from '../support/temp-dir.ts';

it.each(['platform', 'dev'])('remora %s on a port that is taken says so', async (command) => {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  onTestFinished(() => void server.close());
  const port = String((server.address() as AddressInfo).port);
  const env = { REMORA_PLATFORM_KEY: 'ab'.repeat(32) };
  const run = await runRemora([command, '--dir', join(tempDir(), 'd'), '--port', port], { env });
  expect(run.code).toBe(1);
  expect(run.stdout).toBe('');
  const lines = run.stderr
    .trim()
    .split('\n')
    .filter((line) => line.startsWith('error: '));
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain(port);
  expect(run.stderr).not.toMatch(/\n\s+at |\{"/);
});

it('a file that is not there is named with what wanted it', async () => {
  const dir = tempDir();
  writeFileSync(join(dir, 'file'), '');
  mkdirSync(join(dir, 'p'));
  const none = join(dir, 'none');
  const key = ['--key-file', none];
  for (const words of [
    ['platform', '--dir', join(dir, 'p'), ...key],
    ['platform', '--dir', join(dir, 'p'), '--providers', none],
    ['platform', 'rotate', '--dir', join(dir, 'p'), ...key],
    ['connector', 'create', 'openai', '--dir', join(dir, 'p'), '--api-key-file', none],
    ['sprite', 'list', '--url', 'http://127.0.0.1:1', '--token-file', none],
    ['agent', '--config', none],
  ]) {
    const run = await runHere(words, { REMORA_PLATFORM_KEY: 'ab'.repeat(32) });
    expect(run.code, words.join(' ')).toBeGreaterThan(0);
    expect(run.err, words.join(' ')).toContain(none);
    expect(run.err, words.join(' ')).not.toMatch(/^error: ENOENT/);
  }
  const under = await runHere(['platform', '--dir', join(dir, 'file', 'p')], { REMORA_PLATFORM_KEY: 'ab'.repeat(32) });
  expect(under).toMatchObject({ code: 1, err: expect.stringMatching(/^error: (?!ENOTDIR).*file/) });
});
