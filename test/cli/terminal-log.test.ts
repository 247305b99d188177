// The log of a daemon on a terminal: a pseudo-terminal of Python's, in which the real command runs.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { loudly } from '../support/loudly.ts';
import { remoraPath } from '../support/run-remora.ts';
import { tempDir } from '../support/temp-dir.ts';

const hasPython = spawnSync('python3', ['-c', 'import pty']).status === 0;
const IN_TERMINAL = 'import pty, sys; pty.spawn(sys.argv[1:])';

/** What is on the screen by the time that `word` is. */
async function readUntil(
  word: string,
  words: readonly string[],
  env: Readonly<Record<string, string>>,
  isTerminal: boolean,
) {
  const command = [process.execPath, remoraPath, ...words];
  const [program = '', ...args] = isTerminal ? ['python3', '-c', IN_TERMINAL, ...command] : command;
  const child = spawn(program, args, {
    env: { PATH: process.env.PATH ?? '', NO_COLOR: '1', ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const ended = once(child, 'close');
  onTestFinished(async () => {
    child.stdin.end();
    child.kill('SIGTERM');
    await ended;
  });
  let text = '';
  return await new Promise<string>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
        if (text.includes(word)) resolve(text);
      });
    }
    child.once('exit', () => reject(new Error(`ended before ${word}:\n${text}`)));
  });
}

const daemons = [
  ['platform', (dir: string) => ['platform', '--port', '0', '--dir', join(dir, 'p')]],
  ['agent', (dir: string) => ['agent', '--socket', join(dir, 's'), '--state-dir', join(dir, 'state')]],
] as const;
const env = { REMORA_PLATFORM_KEY: 'ab'.repeat(32) };

it.skipIf(loudly(!hasPython, 'no python3: the log on a terminal is not tried')).each(daemons)(
  'the %s writes lines for people to a terminal',
  async (_name, words) => {
    const text = await readUntil('serving', words(tempDir()), env, true);
    expect(text).toMatch(/^\d\d:\d\d:\d\d\.\d{3} INFO {2}serving /m);
    expect(text).not.toContain('{"level"');
  },
);

it.each(daemons)('the %s writes JSON elsewhere', async (_name, words) => {
  const text = await readUntil('"serving"', words(tempDir()), env, false);
  expect(JSON.parse(text.split('\n').find((line) => line.includes('"serving"')) ?? '')).toMatchObject({ level: 30 });
});
