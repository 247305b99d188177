import { describe, expect, it } from 'vitest';
import type { Hold, HoldTime } from '../../../src/core/holds/hold-book.ts';
import {
  beginIdle,
  blockersOf,
  type IdleSample,
  type IdleState,
  idleFor,
  observe,
} from '../../../src/core/idle/idle-judge.ts';
import { toIdlePace } from '../../../src/core/idle/idle-pace.ts';
import { toIdleStatus, untilSuspend } from '../../../src/core/idle/idle-status.ts';
import { type InsideWork, noInsideWork } from '../../../src/core/idle/inside-work.ts';
import type { InboundConnection } from '../../../src/core/idle/select-inbound.ts';

const WALL = Date.UTC(2026, 0, 1, 12);
/** Run time and wall time together, in seconds from the start. */
const at = (s: number, away_s = 0): HoldTime => ({ run_ms: s * 1_000, wall_ms: WALL + (s + away_s) * 1_000 });
const iso = (s: number) => new Date(WALL + s * 1_000).toISOString();

function sample(s: number, parts: Partial<IdleSample> = {}): IdleSample {
  return {
    at: at(s),
    holds: [],
    holdChanges: 0,
    calls: { open: new Map(), total: 0 },
    inside: noInsideWork,
    suspendState: 'awake',
    isPrimary: undefined,
    inbound: { type: 'kept' },
    ...parts,
  };
}

function toInside(session: { callers: number; quiet_ms: number | null }): InsideWork {
  const one = { id: 'a1', program: 'sh', created: iso(-9), ...session };
  return { ...noInsideWork, sessions: { type: 'seen', sessions: [one] } };
}

const run = (...samples: IdleSample[]): IdleState => samples.reduce(observe, beginIdle(at(0)));

function hold(parts: Partial<Hold> = {}): Hold {
  return {
    name: 'build',
    mode: 'block',
    reason: 'compiling',
    process: undefined,
    connection: false,
    created_wall_ms: WALL - 60_000,
    deadline_run_ms: 1e9,
    ...parts,
  };
}

function connection(bytes: number | undefined, inode = 1, local_port = 8_080): InboundConnection {
  return { local: '10.0.0.7', local_port, peer: '10.0.0.9', peer_port: 40_000 + inode, inode, bytes };
}

const seen = (...connections: InboundConnection[]) => ({ inbound: { type: 'seen', connections } }) as const;

describe('work', () => {
  it.each<[string, Partial<IdleSample>, object]>([
    ['a hold', { holds: [hold()] }, { kind: 'hold', owner: 'build', since: iso(-60), reason: 'compiling' }],
    [
      'a hold of a process',
      { holds: [hold({ reason: undefined, process: { pid: 42, started: '7' } })] },
      { kind: 'hold', owner: 'build', since: iso(-60), reason: 'pid 42' },
    ],
    [
      'a call through the gateway',
      { calls: { open: new Map([['openai/conn_1', 2]]), total: 2 } },
      { kind: 'gateway_call', owner: 'openai/conn_1', since: iso(10), reason: '2 in flight' },
    ],
    [
      'a call from outside',
      { inside: { ...noInsideWork, open: new Map([['writeFile', 2]]), total: 2 } },
      { kind: 'call', owner: 'writeFile', since: iso(10), reason: '2 in flight' },
    ],
    [
      'a process with a caller',
      { inside: toInside({ callers: 1, quiet_ms: 90_000 }) },
      { kind: 'session', owner: 'sh (a1)', since: iso(-9), reason: 'a caller is connected' },
    ],
    [
      'a process that prints',
      { inside: toInside({ callers: 0, quiet_ms: 29_999 }) },
      { kind: 'session', owner: 'sh (a1)', since: iso(-9), reason: 'it printed within 30 s' },
    ],
    [
      'processes that cannot be seen',
      { inside: { ...noInsideWork, sessions: { type: 'failed', why: 'no answer' } } },
      {
        kind: 'session',
        owner: 'all processes',
        since: iso(10),
        reason: 'processes cannot be seen: no answer',
      },
    ],
    [
      'a resume',
      { suspendState: 'resuming' },
      { kind: 'suspend_state', owner: 'resuming', since: iso(10), reason: 'the machine was just resumed' },
    ],
    [
      'being the primary',
      { isPrimary: true },
      {
        kind: 'primary',
        owner: 'replication',
        since: iso(10),
        reason: 'this node is the primary of the replicated database',
      },
    ],
    [
      'bytes on an inbound connection',
      seen(connection(300), connection(12, 2)),
      {
        kind: 'connection',
        owner: 'port 8080',
        since: iso(10),
        reason: '2 open connections, 312 bytes since the look before',
      },
    ],
    [
      'a connection whose bytes cannot be seen',
      seen(connection(undefined)),
      { kind: 'connection', owner: 'port 8080', since: iso(10), reason: '1 open connection, bytes cannot be seen' },
    ],
    [
      'not knowing the connections',
      { inbound: { type: 'failed', why: 'no /proc' } },
      {
        kind: 'connection',
        owner: 'all ports',
        since: iso(10),
        reason: 'inbound connections cannot be seen: no /proc',
      },
    ],
  ])('is %s, told with owner and since', (_case, parts, blocker) => {
    const state = run(sample(10, parts));
    expect(blockersOf(state)).toEqual([blocker]);
    expect(idleFor(state, at(500))).toBe(0);
    expect(state.activity).toEqual(at(10));
    expect(untilSuspend(state, 1, undefined, at(500))).toBeUndefined();
  });

  it.each<[string, Partial<IdleSample>]>([
    ['nothing at all', {}],
    ['a process that nobody sees and that prints nothing', { inside: toInside({ callers: 0, quiet_ms: 30_000 }) }],
    ['a process that has printed nothing at all', { inside: toInside({ callers: 0, quiet_ms: null }) }],
    ['a hold that only delays', { holds: [hold({ mode: 'delay' })] }],
    ['an open connection without bytes', seen(connection(0))],
    ['a node that is no primary', { isPrimary: false }],
    ['a look that was left out', { inbound: { type: 'skipped' } }],
  ])('is not %s', (_case, parts) => {
    const state = run(sample(10, parts), sample(20, parts));
    expect(blockersOf(state)).toEqual([]);
    expect(idleFor(state, at(25))).toBe(25_000);
    expect(state.activity).toBeUndefined();
  });

  it('keeps the since of a blocker that stays', () => {
    const calls = (n: number) => ({ calls: { open: new Map([['openai/conn_1', n]]), total: n } });
    const state = run(sample(10, calls(1)), sample(20, calls(2)), sample(30, calls(3)));
    expect(blockersOf(state)).toMatchObject([{ since: iso(10), reason: '3 in flight' }]);
  });

  it.each<[string, Partial<IdleSample>]>([
    ['a call that came and went', { calls: { open: new Map(), total: 1 } }],
    ['a call from outside that came and went', { inside: { ...noInsideWork, total: 1 } }],
    ['a hold that came and went', { holdChanges: 2 }],
  ])('is %s between two samples', (_case, parts) => {
    const state = run(sample(10), sample(20, parts), sample(30, parts));
    expect(blockersOf(state)).toEqual([]);
    expect(idleFor(state, at(30))).toBe(10_000);
    expect(state.activity).toEqual(at(20));
  });
});

describe('inbound connections', () => {
  it('are work only with new bytes, in either look', () => {
    const state = run(sample(10, seen(connection(100))), sample(20, seen(connection(100))));
    expect(blockersOf(state)).toEqual([]);
    expect(idleFor(state, at(20))).toBe(10_000);
    expect(state.inbound.ignored).toEqual([`port 8080: 1 open connection without bytes since ${iso(10)}`]);
    const again = observe(state, sample(30, seen(connection(101))));
    expect(blockersOf(again)).toMatchObject([
      { owner: 'port 8080', since: iso(10), reason: '1 open connection, 1 bytes since the look before' },
    ]);
  });

  it('of different ports are told apart, busy and quiet ones too', () => {
    const first = [connection(5, 1, 22), connection(5, 2, 8_080), connection(5, 3, 8_080)];
    const second = [connection(5, 1, 22), connection(5, 2, 8_080), connection(9, 3, 8_080)];
    const state = run(sample(10, seen(...first)), sample(20, seen(...second)));
    expect(blockersOf(state).map(({ owner, reason }) => [owner, reason])).toEqual([
      ['port 8080', '1 open connection, 4 bytes since the look before'],
    ]);
    expect(state.inbound.ignored).toEqual([
      `port 22: 1 open connection without bytes since ${iso(10)}`,
      `port 8080: 1 open connection without bytes since ${iso(10)}`,
    ]);
  });

  it('count from where they were before a time in which nobody looked', () => {
    const busy = { holds: [hold()], inbound: { type: 'skipped' } } as const;
    const before = run(sample(10, seen(connection(100))), sample(20, busy));
    expect(blockersOf(before).map(({ kind }) => kind)).toEqual(['hold']);
    expect(blockersOf(observe(before, sample(30, seen(connection(100)))))).toEqual([]);
    expect(blockersOf(observe(before, sample(30, seen(connection(150)))))).toHaveLength(1);
  });

  it('with a new socket between the same ends are new', () => {
    const state = run(sample(10, seen(connection(100))), sample(20, seen({ ...connection(100), inode: 9 })));
    expect(blockersOf(state)).toHaveLength(1);
  });

  it('that were busy at the last look do not become new work by being asked about', () => {
    const state = run(sample(10, seen(connection(100))), sample(15), sample(19));
    expect(blockersOf(state)).toHaveLength(1);
    const quiet = observe(state, sample(20, seen(connection(100))));
    expect(idleFor(quiet, at(20))).toBe(10_000);
  });
});

describe('time without work', () => {
  it('is run time: an hour asleep is not an hour without work', () => {
    const state = run(sample(10, { holds: [hold()] }), sample(11));
    expect(idleFor(state, at(71, 3_600))).toBe(61_000);
    expect(untilSuspend(state, 300_000, undefined, at(71, 3_600))).toBe(239_000);
  });

  it('is never less than none, also after run time was corrected backwards', () => {
    expect(idleFor(run(sample(10, { holdChanges: 1 })), at(5))).toBe(0);
  });
});

describe('the report', () => {
  const settings = { after_ms: 60_000, ignorePorts: [9_100] };

  it('says when the machine would suspend', () => {
    const report = toIdleStatus(run(sample(10, { holdChanges: 1 })), settings, undefined, at(30));
    expect(report).toMatchObject({
      idle: true,
      idle_since: iso(10),
      blockers: [],
      last_activity_at: iso(10),
      would_suspend_at: iso(70),
      idle_suspend: { after_ms: 60_000 },
    });
    expect(report).not.toHaveProperty('last_refusal');
  });

  it('says nothing of when while something blocks', () => {
    const report = toIdleStatus(run(sample(10, { holds: [hold()] })), settings, undefined, at(30));
    expect(report).toMatchObject({ idle: false, idle_since: null, would_suspend_at: null });
  });

  it('names the last refusal and the time of the next try', () => {
    const refusal = { at_wall_ms: WALL + 90_000, message: 'no', retry_run_ms: 200_000 };
    const report = toIdleStatus(run(sample(10)), settings, refusal, at(100));
    expect(report).toMatchObject({
      would_suspend_at: iso(200),
      last_refusal: { at: iso(90), message: 'no', next_try_at: iso(200) },
    });
  });

  it('works with idle suspend off, and says so', () => {
    const report = toIdleStatus(run(sample(10)), { after_ms: undefined, ignorePorts: [] }, undefined, at(30));
    expect(report).toMatchObject({ idle: true, would_suspend_at: null, idle_suspend: 'off' });
    expect(report.ignored.join()).toContain('looked at only while idle suspend is on');
  });

  it('names what does not count', () => {
    const state = run(sample(10, { holds: [hold({ name: 'flush', mode: 'delay' })], ...seen(connection(0)) }));
    const ignored = toIdleStatus(state, settings, undefined, at(30)).ignored.join('\n');
    for (const text of ['health checks', 'own connections', 'hold flush', 'port 8080: 1 open', 'port 9100: named in']) {
      expect(ignored).toContain(text);
    }
  });
});

describe('the pace', () => {
  it.each([
    [undefined, 10_000, Number.POSITIVE_INFINITY],
    [1_000, 250, 500],
    [60_000, 3_000, 12_000],
    [3_600_000, 5_000, 15_000],
  ])('follows the time that is set: %s ms', (after_ms, sample_ms, look_ms) => {
    expect(toIdlePace(after_ms)).toEqual({ sample_ms, look_ms });
  });
});
