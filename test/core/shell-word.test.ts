import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { toQuotedWord, toShellWord } from '../../src/core/shell-word.ts';

const words: readonly (readonly [text: string, word: string])[] = [
  ['http://127.0.0.1:4181/v1/a_b-c,d@e+f%20', 'http://127.0.0.1:4181/v1/a_b-c,d@e+f%20'],
  ['name=value', 'name=value'],
  ['-H', '-H'],
  ['', "''"],
  ['=ls', "'=ls'"],
  ['~', "'~'"],
  ['~root/x', "'~root/x'"],
  ['PATH=/bin:~', "'PATH=/bin:~'"],
  ['http://h/?a=b', "'http://h/?a=b'"],
  ["it's", "'it'\\''s'"],
  ['a b', "'a b'"],
  ['a\n', "'a\n'"],
  ['é', "'é'"],
];

test.each(words)('%j is the word %s', (text, word) => {
  expect(toShellWord(text)).toBe(word);
});

const hostile = [
  ...words.map(([text]) => text),
  "'",
  "''';'",
  '$HOME',
  '$(id)',
  '`id`',
  '\\',
  "\\'",
  '"',
  '*',
  '[a-z]*',
  '{a,b}',
  '#x',
  'a#b',
  '!!',
  'a;id',
  'a&',
  'a|id',
  '>x',
  '<x',
  '(id)',
  'a\tb',
  'first\nsecond',
  '\r',
  '\u001b[31m',
  'if',
  '-n',
  '--',
];

test('a shell reads each word as the text it was made from', () => {
  const texts = hostile.flatMap((text) => [text, text]);
  const quoted = hostile.flatMap((text) => [toShellWord(text), toQuotedWord(text)]);
  // A bare `~` among the arguments would become HOME, and `*` the names of this directory.
  const out = execFileSync('sh', ['-c', `printf '%s\\0' ${quoted.join(' ')}`], { encoding: 'utf8', cwd: '/' });
  expect(out.split('\0').slice(0, -1)).toEqual(texts);
});

test('one word alone prints its text', () => {
  for (const text of ["it's ~ $(id)", '~', '*']) {
    expect(execFileSync('sh', ['-c', `printf %s ${toShellWord(text)}`], { encoding: 'utf8', cwd: '/' })).toBe(text);
  }
});
