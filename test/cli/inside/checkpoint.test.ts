// `remora checkpoint` against a real machine and its files.
import { expect, it } from 'vitest';
import { openInsideMachine } from '../../support/inside-machine.ts';
import { runRemora } from '../../support/run-remora.ts';

it('files are kept, changed, put back, and forgotten', async () => {
  const { elsewhere: env, within } = await openInsideMachine();
  const word = (...words: string[]) => runRemora(['checkpoint', ...words], { env });
  expect(await word('list')).toEqual({ code: 0, stdout: 'there is no checkpoint\n', stderr: '' });
  expect(await runRemora(['cp', '-', ':kept'], { env, input: 'first' })).toMatchObject({ code: 0 });
  const made = await word('create', '-m', 'before the change');
  expect(made).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Checkpoint v\d+ created\n$/) });
  const id = /v\d+/.exec(made.stdout)?.[0] ?? '';
  expect(await runRemora(['cp', '-', ':kept'], { env, input: 'second' })).toMatchObject({ code: 0 });
  const second = /v\d+/.exec((await word('create')).stdout)?.[0] ?? '';
  const { stdout } = await word('list');
  expect(stdout).toMatch(/^ID +CREATED +FROM +BY ITSELF +HEALTH +COMMENT\n/);
  expect(stdout).toMatch(new RegExp(`^${id} +\\S.* - +no +good +before the change$`, 'm'));
  expect(JSON.parse((await word('list', '--history', id, '--json')).stdout)).toMatchObject([{ id }]);
  expect((await word('show', id)).stdout).toMatch(/^comment +before the change$/m);
  const restored = await word('restore', id);
  expect(restored).toMatchObject({ code: 0, stdout: `Checkpoint ${id} restored\n` });
  expect((await runRemora(['cp', ':kept', '-'], { env })).stdout).toBe('first');
  const own = await word('delete', id);
  expect([own.code, own.stderr]).toEqual([1, expect.stringMatching(/^error: .*\(conflict\)/)]);
  expect(await word('delete', second)).toMatchObject({ code: 0, stdout: `${second} is deleted\n` });
  const gone = await word('show', second);
  expect([gone.code, gone.stderr]).toEqual([1, expect.stringContaining('(not_found)')]);
  for (const [words, given, message] of [
    [['show', 'one'], env, 'expected v and a number'],
    [['list'], within, '--sprite NAME says of which sprite'],
    [['crate'], env, 'did you mean create?'],
  ] as const) {
    const wrong = await runRemora(['checkpoint', ...words], { env: given });
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining(message)]);
  }
});
