import { expect, test } from 'vitest';
import { toLogLine } from '../../src/core/log-line.ts';

const time = '2026-11-22T04:02:22.981Z';
const clock = /^\d\d:\d\d:22\.981 /;

test('a line says when, how bad, what, and with which fields', () => {
  const line = toLogLine(JSON.stringify({ level: 30, time, url: 'http://h:1', list: ['a b'], msg: 'serving' }), false);
  expect(line).toMatch(clock);
  expect(line.slice(13)).toBe('INFO  serving url=http://h:1 list=["a b"]\n');
});

test('an error is its message with its causes, and its stack below', () => {
  const err = { message: 'no', code: 'internal', stack: 'Error: no\n    at f (x.ts:1)', cause: { message: 'disk' } };
  expect(toLogLine(JSON.stringify({ level: 50, time, err, msg: 'failed' }), false).slice(13)).toBe(
    'ERROR failed: no (internal); because disk\n    at f (x.ts:1)\n',
  );
});

test('control characters of other servers are shown and not sent', () => {
  const line = toLogLine(JSON.stringify({ level: 40, time, said: '\u001b[31m', msg: 'a\nb' }), false);
  expect(line.slice(13)).toBe('WARN  a\\x0ab said=\\x1b[31m\n');
});

test('colours come only when they are asked for', () => {
  const json = JSON.stringify({ level: 50, time, msg: 'x' });
  expect(toLogLine(json, true)).toContain('\u001b[31mERROR\u001b[39m');
  expect(toLogLine(json, false)).not.toContain('\u001b');
});

test.each(['not JSON', '7', ''])('%j comes back as it is', (text) => {
  expect(toLogLine(text, false)).toBe(`${text}\n`);
});
