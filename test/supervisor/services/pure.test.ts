// The parts of the services that decide: states, needs, delays, lines and command lines.
import { describe, expect, it, test } from 'vitest';
import type { ServiceStatus } from '../../../src/contract/services.ts';
import { toLaunch } from '../../../src/supervisor/services/launch.ts';
import { LineCutter, type LinePiece, PIECE_BYTES } from '../../../src/supervisor/services/line-cutter.ts';
import { LogBlock } from '../../../src/supervisor/services/log-block.ts';
import { parseLogLine, toLinePrefix, toLogBytes } from '../../../src/supervisor/services/log-line.ts';
import { LogQueue } from '../../../src/supervisor/services/log-queue.ts';
import { checkNeeds, inOrder, whoNeeds } from '../../../src/supervisor/services/needs.ts';
import { ReadingPace } from '../../../src/supervisor/services/reading-pace.ts';
import { toRestartDelay } from '../../../src/supervisor/services/restart-delay.ts';
import { createServiceMarks } from '../../../src/supervisor/services/service-mark.ts';
import { type ServiceMove, serviceMoves, serviceStates } from '../../../src/supervisor/services/service-states.ts';
import { parseSignalName } from '../../../src/supervisor/services/signal-name.ts';

describe('states', () => {
  const moved: readonly [ServiceStatus, ServiceMove, ServiceStatus][] = [
    ['stopped', 'start', 'starting'],
    ['starting', 'proved', 'running'],
    ['starting', 'not_started', 'failed'],
    ['starting', 'ended', 'failed'],
    ['starting', 'stop', 'stopping'],
    ['running', 'ended', 'failed'],
    ['running', 'stop', 'stopping'],
    ['stopping', 'ended', 'stopped'],
    ['stopping', 'not_started', 'stopped'],
    ['failed', 'start', 'starting'],
    ['failed', 'stop', 'stopping'],
  ];

  it.each(moved)('%s, %s: %s', (from, move, to) => {
    expect(serviceStates[from][move]).toBe(to);
  });

  test('every other move changes nothing', () => {
    const states = Object.keys(serviceStates) as ServiceStatus[];
    const others = states.flatMap((from) =>
      serviceMoves
        .filter((move) => !moved.some((row) => row[0] === from && row[1] === move))
        .map((move) => [from, move]),
    ) as [ServiceStatus, ServiceMove][];
    expect(others).toHaveLength(states.length * serviceMoves.length - moved.length);
    expect(others.filter(([from, move]) => serviceStates[from][move] !== from)).toEqual([]);
  });
});

describe('needs', () => {
  const needs = new Map([
    ['web', ['api', 'cache']],
    ['api', ['db']],
    ['cache', ['db']],
    ['db', []],
  ]);

  test('are in order', () => {
    expect(inOrder(needs, 'web')).toEqual(['db', 'api', 'cache', 'web']);
    expect(whoNeeds(needs, 'db')).toEqual(['api', 'cache']);
    expect(() => checkNeeds(needs)).not.toThrow();
  });

  it.each([
    [{ a: ['a'] }, 'in a cycle: a → a'],
    [{ a: ['b'], b: ['c'], c: ['a'] }, 'in a cycle: a → b → c → a'],
    [{ x: ['a'], a: ['b'], b: ['a'] }, 'in a cycle: a → b → a'],
    [{ a: ['b'] }, 'a needs b, which is not defined'],
  ])('%j is refused: %s', (bad, message) => {
    expect(() => checkNeeds(new Map(Object.entries<string[]>(bad as never)))).toThrow(message);
  });
});

it.each([
  [1, 250],
  [2, 500],
  [3, 1_000],
  [8, 30_000],
  [1_000, 30_000],
])('after %d crashes in a row a service waits %d ms', (crashes, delay_ms) => {
  expect(toRestartDelay(crashes)).toBe(delay_ms);
});

describe('lines', () => {
  /** Whole lines as pieces; the memory of each chunk changes after the push, as that of a read does. */
  const push = (cutter: LineCutter, bytes: Buffer): LinePiece[] => {
    const shared = Buffer.alloc(PIECE_BYTES);
    const pieces: LinePiece[] = [];
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
      const length = bytes.copy(shared, 0, at);
      const { pieces: first, whole } = cutter.push(shared.subarray(0, length));
      const lines = whole.toString('latin1').split('\n').slice(0, -1);
      pieces.push(...first, ...lines.map((line) => ({ bytes: Buffer.from(line, 'latin1'), goesOn: false })));
      shared.fill('?');
    }
    return pieces;
  };
  const cut = (chunks: readonly (string | Buffer)[], isEnd = true) => {
    const cutter = new LineCutter();
    const pieces = chunks.flatMap((chunk) => push(cutter, Buffer.from(chunk as string)));
    return [...pieces, ...cutter.flush(isEnd)].map(({ bytes, goesOn }) => `${bytes}${goesOn ? '+' : ''}`);
  };

  it.each([
    [['a\nb\n'], ['a', 'b']],
    [
      ['a', 'b\nc'],
      ['ab', 'c'],
    ],
    [['\n\n'], ['', '']],
    [[Buffer.from('ä').subarray(0, 1), Buffer.from('ä\n').subarray(1)], ['ä']],
    [[], []],
  ])('%j', (chunks, expected) => {
    expect(cut(chunks)).toEqual(expected);
  });

  test('a long line comes in pieces, and no character is cut in two', () => {
    const line = `x${'ä'.repeat(PIECE_BYTES)}`;
    const pieces = cut([line.slice(0, 1_000), `${line.slice(1_000)}\nnext\n`]);
    expect(pieces.slice(0, -2).every((piece) => piece.endsWith('+'))).toBe(true);
    expect(pieces.slice(0, -1).join('').replaceAll('+', '')).toBe(line);
    expect(pieces.at(-1)).toBe('next');
    expect(Math.max(...pieces.map((piece) => Buffer.byteLength(piece)))).toBeLessThanOrEqual(PIECE_BYTES + 1);
  });

  test('bytes that are no text pass as they are', () => {
    const bytes = Buffer.alloc(200_000, 0xff);
    const cutter = new LineCutter();
    const pieces = [...push(cutter, bytes), ...cutter.flush(true)];
    expect(Buffer.concat(pieces.map((piece) => piece.bytes)).equals(bytes)).toBe(true);
  });

  test('a held line that is passed on early says that it goes on', () => {
    expect(cut(['prompt> '], false)).toEqual(['prompt> +']);
  });

  test('many at once are stamped as one by one, whatever their bytes are', () => {
    const lines = ['', 'a', '$& $1 $$', 'ä\u{1f600}', '\xff\x00\r'].map((line) => Buffer.from(line, 'latin1'));
    const pieces = lines.map((bytes) => ({ bytes, goesOn: false }));
    const whole = Buffer.concat(lines.flatMap((line) => [line, Buffer.from('\n')]));
    const prefix = toLinePrefix('stdout', 1_700_000_000_000);
    const expected = toLogBytes('stdout', pieces, 1_700_000_000_000);
    const small = LogBlock.open(prefix, whole);
    expect(small.push(prefix, whole)).toBe(whole.length);
    expect(small.bytes.equals(expected)).toBe(true);
    expect(small.lines).toBe(lines.length);
    const many = Buffer.concat(Array.from({ length: 2_000 }, () => whole));
    const queue = new LogQueue();
    for (let at = 0; at < 20; at += 1) queue.pushLines(prefix, many);
    const batches = [];
    while (!queue.isEmpty) batches.push(...queue.takeBatch());
    const all = Buffer.concat(Array.from({ length: 40_000 }, () => expected));
    expect(Buffer.concat(batches.map(({ bytes }) => bytes)).equals(all)).toBe(true);
    expect(batches.reduce((sum, each) => sum + each.lines, 0)).toBe(40_000 * lines.length);
    expect(queue.bytes).toBe(0);
  });

  test('a service that prints without end is read for a fifth of the time, another one at once', () => {
    const busy = new ReadingPace();
    let now_ms = 0;
    let worked_ms = 0;
    while (now_ms < 1_000) {
      worked_ms += 0.1;
      now_ms += 0.1;
      now_ms += busy.take(now_ms - 0.1, now_ms);
    }
    expect(worked_ms / now_ms).toBeGreaterThan(0.1);
    expect(worked_ms / now_ms).toBeLessThanOrEqual(0.21);
    const calm = new ReadingPace();
    for (let at_ms = 0; at_ms < 100; at_ms += 1) expect(calm.take(at_ms, at_ms + 0.1)).toBe(0);
  });

  test('of the log are read back', () => {
    const wall_ms = Date.UTC(2026, 5, 2, 17, 11, 17, 821);
    const bytes = toLogBytes('stderr', [{ bytes: Buffer.from('text'), goesOn: false }], wall_ms);
    expect(bytes.toString()).toBe('2026-06-02T17:11:17.821Z [stderr] text\n');
    expect(parseLogLine('2026-06-02T17:11:17.821Z [stderr] text')).toEqual({
      type: 'stderr',
      data: 'text',
      timestamp: wall_ms,
    });
    expect(parseLogLine('2026-06-02T17:11:17.821Z [stdout+] a] b')).toMatchObject({ type: 'stdout', data: 'a] b' });
    expect(parseLogLine('rest of a line [stdout] x')).toBeUndefined();
  });
});

describe('a command line', () => {
  const request = { cmd: 'run', args: ['-a', 'b c'], env: { PATH: '/p', LD_PRELOAD: "/x'y" } };

  test('is the command itself where nothing changes', () => {
    const launch = toLaunch({ ...request, user: undefined, cgroup: undefined });
    expect(launch).toEqual({ command: 'run', args: ['-a', 'b c'], env: request.env, variables: undefined });
  });

  test('gives root up before it takes the variables of the request', () => {
    const launch = toLaunch({ ...request, user: { uid: 5, gid: 6 }, cgroup: '/g' });
    expect(launch.env).toEqual({ PATH: expect.any(String) });
    expect(JSON.stringify([launch.env, launch.args])).not.toContain('LD_PRELOAD');
    expect(launch.variables).toBe("export PATH='/p'\nexport LD_PRELOAD='/x'\\''y'\n");
    const words = [launch.command, ...launch.args];
    expect(words.indexOf('/g/cgroup.procs')).toBeLessThan(words.indexOf('setpriv'));
    expect(words).toEqual(expect.arrayContaining(['--reuid=5', '--regid=6', '--init-groups']));
    expect(words.slice(-3)).toEqual(['run', '-a', 'b c']);
  });
});

it.each([
  ['SIGTERM', 'SIGTERM'],
  ['term', 'SIGTERM'],
  ['SIGNONE', undefined],
  ['constructor', undefined],
  ['', undefined],
])('the signal %j is %s', (text, expected) => {
  expect(parseSignalName(text)).toBe(expected);
});

test('a mark names a service of its own state directory, and no path', () => {
  const marks = createServiceMarks('/a');
  expect(marks.toName(marks.toMark('web'))).toBe('web');
  expect(createServiceMarks('/b').toName(marks.toMark('web'))).toBeUndefined();
  expect(marks.toName(marks.toMark('../web'))).toBeUndefined();
  expect(marks.toName(undefined)).toBeUndefined();
});
