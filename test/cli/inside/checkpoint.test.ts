// `remora checkpoint` against a real machine and its files.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openInsideMachine } from '../../support/inside-machine.ts';
import { runHere } from '../../support/run-here.ts';
import { runRemora } from '../../support/run-remora.ts';

it('files are kept, changed, put back, and forgotten', async () => {
  const { elsewhere: env } = await openInsideMachine();
  const word = (...words: string[]) => runHere(['checkpoint', ...words], env);
  expect(await word('list')).toEqual({ code: 0, out: 'there is no checkpoint', err: '' });
  expect(await runRemora(['cp', '-', ':kept'], { env, input: 'first' })).toMatchObject({ code: 0 });
  const made = await runRemora(['checkpoint', 'create', '-m', 'before the change'], { env });
  expect(made).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Checkpoint v\d+ created\n$/) });
  const id = /v\d+/.exec(made.stdout)?.[0] ?? '';
  expect(await runRemora(['cp', '-', ':kept'], { env, input: 'second' })).toMatchObject({ code: 0 });
  const second = /v\d+/.exec((await word('create')).out)?.[0] ?? '';
  const { out } = await word('list');
  expect(out).toMatch(/^ID +CREATED +FROM +BY ITSELF +HEALTH +COMMENT\n/);
  expect(out).toMatch(new RegExp(`^${id} +\\S.* - +no +good +before the change$`, 'm'));
  expect(JSON.parse((await word('list', '--history', id, '--json')).out)).toMatchObject([{ id }]);
  expect((await word('show', id)).out).toMatch(/^comment +before the change$/m);
  const restored = await word('restore', id);
  expect(restored).toMatchObject({ code: 0, out: `Checkpoint ${id} restored` });
  expect((await runRemora(['cp', ':kept', '-'], { env })).stdout).toBe('first');
  const own = await word('delete', id);
  expect([own.code, own.err]).toEqual([1, expect.stringMatching(/^error: .*\(conflict\)/)]);
  expect(await word('delete', second)).toMatchObject({ code: 0, out: `${second} is deleted` });
  const gone = await word('show', second);
  expect([gone.code, gone.err]).toEqual([1, expect.stringContaining('(not_found)')]);
  for (const [words, message] of [
    [['show', 'one'], 'expected v and a number'],
    [['crate'], 'did you mean create?'],
  ] as const) {
    const wrong = await word(...words);
    expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining(message)]);
  }
});

it('a machine keeps its own files, and puts them back', async () => {
  const { machine, within: env } = await openInsideMachine();
  const word = (...words: string[]) => runRemora(['checkpoint', ...words], { env });
  const file = join(machine.dir, 'home', 'kept');
  writeFileSync(file, 'first');
  expect(await word('create')).toMatchObject({ code: 0, stdout: 'Checkpoint v0 created\n' });
  expect((await word('list')).stdout).toMatch(/^v0 +/m);
  writeFileSync(file, 'second');
  const restored = await word('restore', 'v0');
  expect(restored).toMatchObject({
    code: 255,
    stdout: '',
    stderr: expect.stringMatching(/ends now.*connection was lost/s),
  });
  await expect.poll(() => readFileSync(file, 'utf8')).toBe('first');
  const shown = async () => (await runHere(['checkpoint', 'list'], env)).out;
  await expect.poll(shown).toMatch(/before the restore of v0/);
});
