// Completion as a shell sees it: the script is read by a real bash, and by zsh and fish where they are.
import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { commands } from '../../src/cli/commands.ts';
import { toCompletion } from '../../src/cli/completion.ts';
import { suggest } from '../../src/cli/suggest.ts';
import { loudly } from '../support/loudly.ts';
import { runHere } from '../support/run-here.ts';

/** What bash offers for the last of these words. */
function complete(...words: string[]): string[] {
  const quoted = words.map((word) => `'${word}'`).join(' ');
  const script = `${toCompletion('bash', commands)}
COMP_WORDS=(remora ${quoted}); COMP_CWORD=${words.length}; _remora; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const run = spawnSync('bash', ['--norc', '-eu', '-c', script], { encoding: 'utf8' });
  expect(run.stderr).toBe('');
  return run.stdout.split('\n').filter((line) => line !== '');
}

it('offers commands, what follows them, and their flags', () => {
  expect(complete('sta')).toEqual(['status']);
  expect(complete('sprite', '')).toEqual(['list', 'show', 'create', 'update', 'delete']);
  expect(complete('sprite', 'create', 'web', '--lab')).toEqual(['--labels']);
  expect(complete('platform', 'tok')).toEqual(['token']);
  expect(complete('platform', 'token', 'r')).toEqual(['revoke']);
  expect(complete('platform', '--end')).toEqual(['--end-machines']);
  expect(complete('help', 'connector', 'p')).toEqual(['policy']);
  expect(complete('completion', 'f')).toEqual(['fish']);
  expect(complete('nothing', 'x')).toEqual([]);
});

it('knows each command and each flag', () => {
  for (const { name, flags } of commands) {
    const known = complete(...name.split(' '), '--');
    for (const flag of Object.keys(flags)) expect(known, name).toContain(`--${flag}`);
  }
});

it.each(['zsh', 'fish'] as const)('is a script that %s can read', async (shell) => {
  const { code, out } = await runHere(['completion', shell]);
  expect(code).toBe(0);
  const isMissing = spawnSync(shell, ['--version']).status !== 0;
  if (loudly(isMissing, `no ${shell}: its completion is not read by it`)) return;
  expect(spawnSync(shell, ['-n', '-c', out], { encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' });
});

it.each([
  ['statsu', 'status'],
  ['stats', 'status'],
  ['conn', 'connector'],
  ['--jsno', '--json'],
  ['xyzzy', undefined],
  ['', undefined],
  ['s'.repeat(10_000), undefined],
])('%j is near to %j', (given, expected) => {
  expect(suggest(given, ['status', 'connector', 'sprite', '--json', 'suspend'])).toBe(expected);
});
