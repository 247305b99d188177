// What of the processes computes only: commands, frames, the last output and its rate, and the chunks of plain HTTP.
import { describe, expect, test } from 'vitest';
import { toChunks } from '../../../src/http/exec-chunks.ts';
import { toExecTarget } from '../../../src/http/exec-target.ts';
import { readExecTarget } from '../../../src/platform/sprite-api/exec-audit.ts';
import { ByteRate } from '../../../src/supervisor/processes/byte-rate.ts';
import { toExitStatus } from '../../../src/supervisor/processes/exit-status.ts';
import { parseInput } from '../../../src/supervisor/processes/input-frame.ts';
import { OutputRing } from '../../../src/supervisor/processes/output-ring.ts';
import { readControlCommand, readQueryCommand } from '../../../src/supervisor/processes/read-command.ts';

describe('a command', () => {
  const plain = {
    words: ['ls'],
    env: {},
    dir: undefined,
    hasStdin: false,
    terminal: undefined,
    isDetachable: false,
    lingers_ms: 0,
  };
  test.each([
    ['cmd=ls', plain],
    ['path=ls', plain],
    ['cmd=ls&cmd=-l&path=other', { ...plain, words: ['ls', '-l'] }],
    ['cmd=ls&env=A%3Db%3Dc&env=B%3D', { ...plain, env: { A: 'b=c', B: '' } }],
    ['cmd=ls&tty=true', { ...plain, terminal: { cols: 80, rows: 24 } }],
    ['cmd=ls&tty=1&rows=2&cols=3&cc=true', { ...plain, terminal: { cols: 3, rows: 2 } }],
    ['cmd=ls&detachable=true', { ...plain, isDetachable: true, lingers_ms: Number.POSITIVE_INFINITY }],
    ['cmd=ls&detachable=true&max_run_after_disconnect=5m', { ...plain, isDetachable: true, lingers_ms: 300_000 }],
    ['cmd=ls&stdin=true&dir=x', { ...plain, hasStdin: true, dir: 'x' }],
  ])('%s', (query, command) => {
    expect(readQueryCommand(`/v1/exec?${query}`)).toEqual(command);
  });

  test('of a control frame has its values as text', () => {
    const args = { cmd: ['ls'], env: ['A=b'], tty: 'true', rows: '2', cols: '3', stdin: 'true' };
    const expected = { ...plain, env: { A: 'b' }, hasStdin: true, terminal: { cols: 3, rows: 2 } };
    expect(readControlCommand(args)).toEqual(expected);
    expect(() => readControlCommand(undefined)).toThrow('args');
  });

  test.each(['', 'cmd=', 'cmd=ls&env=1A%3Db', 'cmd=ls&env=A', 'cmd=ls&cols=0', 'cmd=a%00b'])(
    '%j is refused',
    (query) => {
      expect(() => readQueryCommand(`/v1/exec?${query}`)).toThrow();
    },
  );
});

describe('a frame', () => {
  const steer = JSON.stringify({ type: 'signal', signal: 'TERM' });
  const steering = { type: 'signal', signal: 'TERM' };
  const unknown = { type: 'unknown' };
  test.each([
    ['text that steers', steer, false, true, false, steering],
    ['text that is none', 'words', false, true, false, unknown],
    ['text that steers by no known word', '{"type":"stop"}', false, false, false, unknown],
    ['input', '\0words', true, false, false, { type: 'stdin', bytes: Buffer.from('words') }],
    ['the end of input', '\x04', true, false, false, { type: 'end_of_stdin' }],
    ['another first byte', '\x07x', true, false, false, unknown],
    ['nothing', '', true, false, false, unknown],
    ['steering bytes', steer, true, false, false, steering],
    ['what is typed', steer, true, true, false, { type: 'stdin', bytes: Buffer.from(steer) }],
    ['steering bytes over a control connection', steer, true, true, true, steering],
    ['a brace that is typed there', '{', true, true, true, { type: 'stdin', bytes: Buffer.from('{') }],
  ])('%s', (_what, data, isBinary, isTerminal, isSteeredByBytes, input) => {
    expect(parseInput(Buffer.from(data), isBinary, isTerminal, isSteeredByBytes)).toEqual(input);
  });
});

test('the last output is kept in order, and cut at its beginning', () => {
  const ring = new OutputRing(6);
  const push = (kind: 'stdout' | 'stderr', text: string) => ring.push({ kind, bytes: Buffer.from(text) });
  const read = () => ring.read().map(({ kind, bytes }) => `${kind}:${bytes}`);
  push('stdout', 'ab');
  push('stdout', 'cd');
  push('stderr', 'e');
  expect(read()).toEqual(['stdout:abcd', 'stderr:e']);
  push('stdout', 'fgh');
  expect(read()).toEqual(['stdout:cd', 'stderr:e', 'stdout:fgh']);
  push('stderr', '0123456789');
  expect(read()).toEqual(['stderr:456789']);
});

test.each([
  ['one output', ['stdout']],
  ['two outputs in turns', ['stdout', 'stderr']],
] as const)('the last output costs what its bytes weigh, printed byte by byte to %s', (_what, kinds) => {
  const ring = new OutputRing();
  const before_bytes = process.memoryUsage().heapUsed;
  const started_ms = process.cpuUsage().user / 1_000;
  for (let count = 0; count < 300_000; count += 1) {
    ring.push({ kind: kinds[count % kinds.length] ?? 'stdout', bytes: Buffer.of(count % 256) });
  }
  const outputs = ring.read();
  // Each read of the ring copies gigabytes if nothing is joined, and its parts take a hundred times their bytes.
  expect(process.cpuUsage().user / 1_000 - started_ms).toBeLessThan(5_000);
  expect(process.memoryUsage().heapUsed - before_bytes).toBeLessThan(64 * 1024 * 1024);
  expect(outputs.length).toBeLessThanOrEqual(1_024);
  expect(outputs.at(-1)?.bytes.at(-1)).toBe(299_999 % 256);
});

test('a rate counts the last seconds and falls to nothing', () => {
  const rate = new ByteRate();
  rate.add(5_000, 10_000);
  expect(rate.read(11_000)).toBe(1_000);
  expect(rate.read(16_000)).toBe(1_000);
  expect(rate.read(60_000)).toBe(0);
});

test.each([
  [0, null, 0],
  [7, null, 7],
  [null, 'SIGKILL', 137],
] as const)('an end with %s and %s is %s', (code, signal, status) => {
  expect(toExitStatus(code, signal)).toBe(status);
});

test.each([
  ['ab', ['ab']],
  ['1abcdef', ['1abc', '1def']],
  ['1abcd', ['1abc', '1d']],
])('a frame %s is cut into frames of four bytes', (frame, chunks) => {
  expect(toChunks(Buffer.from(frame), 4).map(String)).toEqual(chunks);
});

test.each([
  ['/v1/exec?cmd=cat', {}, '/v1/exec?cmd=cat'],
  ['/v1/exec?cmd=cat&stdin=false', { 'content-length': '3' }, '/v1/exec?cmd=cat&stdin=true'],
  ['/v1/exec?cmd=a%26b&cmd=c', { 'transfer-encoding': 'chunked' }, '/v1/exec?cmd=a%26b&cmd=c&stdin=true'],
])('%s with %j asks for %s', (url, headers, target) => {
  expect(toExecTarget({ url, headers }, '/v1/exec')).toBe(target);
});

test('a terminal over plain HTTP is refused', () => {
  expect(() => toExecTarget({ url: '/v1/exec?cmd=sh&tty=true', headers: {} }, '/v1/exec')).toThrow('WebSocket');
});

test.each([
  ['/v1/exec?cmd=%2Fbin%2Fls&cmd=secret', 'ls', false],
  ['/v1/exec?path=ls', 'ls', false],
  ['/v1/exec?path=ls&path=%2Fbin%2Frm&tty=false&tty=1', 'rm', true],
  ['/v1/exec', undefined, false],
  ['/v1/exec?env=A%3Db', undefined, false],
])('the log names %s as %s, in a terminal: %s', (target, command, isTerminal) => {
  expect(readExecTarget(target)).toEqual({ command, isTerminal });
});
