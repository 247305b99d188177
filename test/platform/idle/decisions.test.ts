// The decisions about machines without work, as tables: what a machine may do, what keeps it awake, and which machine of an app is next.
import { describe, expect, test } from 'vitest';
import type { MachineConfig } from '../../../src/contract/machine-config.ts';
import { createDueTimes } from '../../../src/platform/idle/due-times.ts';
import { NEVER_IDLE } from '../../../src/platform/idle/idle-settings.ts';
import { judgeInApp } from '../../../src/platform/idle/judge-app.ts';
import { listKnownReasons, type MachineFacts } from '../../../src/platform/idle/judge-machine.ts';
import { findSleepRule, readServices } from '../../../src/platform/idle/sleep-rule.ts';
import { createSlots } from '../../../src/platform/idle/slots.ts';

const settings = { ...NEVER_IDLE, sprite_ms: 30_000, cold_ms: 86_400_000, round_ms: 300_000 };
const updated = Date.parse('2026-01-01T00:00:00Z');

function ruleOf(config: MachineConfig, kind: 'sprite' | 'app', given = settings): string {
  const row = { config, machine_only: kind === 'app', config_updated_at: updated };
  const found = findSleepRule(row, given);
  return 'rule' in found ? `${found.rule.move} after ${found.rule.after_ms}` : `${found.why.kind}: ${found.why.reason}`;
}

const large = { guest: { memory_mb: 4_096 } };
const tcp = (autostop: boolean | 'off' | 'stop' | 'suspend') => ({ internal_port: 5_432, autostop });

describe('what happens to a machine without work', () => {
  test.each<[string, MachineConfig, 'sprite' | 'app', string]>([
    ['a sprite', {}, 'sprite', 'suspend after 30000'],
    [
      'a sprite whose services say stop',
      { http_service: { auto_stop_machines: 'stop' } },
      'sprite',
      'stop after 30000',
    ],
    [
      'a sprite whose services say off',
      { http_service: { auto_stop_machines: 'off' } },
      'sprite',
      'setting: its services say off',
    ],
    ['a machine without services', {}, 'app', 'setting: its services say nothing of it'],
    ['one whose services say nothing', { http_service: {} }, 'app', 'setting: its services say nothing of it'],
    ['suspend', { http_service: { auto_stop_machines: 'suspend' } }, 'app', 'suspend after 300000'],
    ['stop', { http_service: { auto_stop_machines: 'stop' } }, 'app', 'stop after 300000'],
    ['a TCP service that stops', { services: [tcp(true)] }, 'app', 'stop after 300000'],
    [
      'one of two services says off',
      { services: [tcp('suspend'), tcp(false)] },
      'app',
      'setting: its services say off',
    ],
    ['suspend comes before stop', { services: [tcp('stop'), tcp('suspend')] }, 'app', 'suspend after 300000'],
    [
      'too large to be suspended, and no service says stop',
      { ...large, http_service: { auto_stop_machines: 'suspend' } },
      'app',
      expect.stringMatching(/^not_eligible: .*2,?048/) as unknown as string,
    ],
    [
      'too large to be suspended, and a service says stop',
      { ...large, http_service: { auto_stop_machines: 'suspend' }, services: [tcp('stop')] },
      'app',
      'stop after 300000',
    ],
    ['a sprite that is too large', large, 'sprite', expect.stringMatching(/^not_eligible: /) as unknown as string],
    ['run elsewhere', { external: true }, 'sprite', 'elsewhere: undefined'],
  ])('%s', (_name, config, kind, expected) => {
    expect(ruleOf(config, kind)).toEqual(expected);
  });

  test('nothing by the settings of a platform that puts none to sleep', () => {
    expect(ruleOf({}, 'sprite', { ...settings, ...NEVER_IDLE } as never)).toMatch(/^setting: this platform/);
    expect(ruleOf({ http_service: { auto_stop_machines: 'stop' } }, 'app', NEVER_IDLE as never)).toMatch(
      /^setting: this platform/,
    );
  });

  test('the services say how many are to run, and what each takes', () => {
    expect(readServices({})).toEqual({ minRunning: 0, softLimit: Infinity });
    const http_service = { min_machines_running: 1, concurrency: { soft_limit: 20 } };
    const services = [{ ...tcp(true), min_machines_running: 2, concurrency: { soft_limit: 5 } }];
    expect(readServices({ http_service, services })).toEqual({ minRunning: 2, softLimit: 5 });
  });
});

describe('what the platform knows by itself', () => {
  const free: MachineFacts['row'] = {
    cordoned: false,
    role: null,
    lease_nonce: null,
    lease_expires_at: null,
    lease_owner: null,
    lease_description: null,
  };
  const leased = { ...free, lease_nonce: 'n', lease_owner: 'deploy', lease_expires_at: 2_000 };
  test.each<[string, Partial<MachineFacts>, string[]]>([
    ['nothing', {}, []],
    ['traffic', { inFlight: 2 }, ['traffic proxy']],
    ['a cordon', { row: { ...free, cordoned: true } }, ['cordon cordon']],
    ['a primary', { row: { ...free, role: 'primary' } }, ['primary metadata.role']],
    ['a replica', { row: { ...free, role: 'replica' } }, []],
    ['a lease', { row: leased }, ['lease deploy']],
    ['a lease that is over', { row: leased, wall_ms: 2_000 }, []],
    ['all', { row: { ...leased, cordoned: true }, inFlight: 1 }, ['traffic proxy', 'cordon cordon', 'lease deploy']],
  ])('%s', (_name, facts, expected) => {
    const reasons = listKnownReasons({ row: free, inFlight: 0, wall_ms: 1_000, ...facts });
    expect(reasons.map(({ kind, owner }) => `${kind} ${owner}`)).toEqual(expected);
  });
});

describe('which machine of an app sleeps', () => {
  const round_ms = 300_000;
  const machine = (id: string, inFlight = 0, softLimit = 10, minRunning = 0) => ({
    id,
    inFlight,
    softLimit,
    minRunning,
  });
  test.each<[string, Parameters<typeof judgeInApp>[1], string]>([
    ['the last one after a round', { here: [machine('m')], elsewhere: 0, round_ms }, '300000'],
    ['one of two soon', { here: [machine('m'), machine('n')], elsewhere: 0, round_ms }, '30000'],
    [
      'in half a round where that is shorter',
      { here: [machine('m'), machine('n')], elsewhere: 0, round_ms: 40_000 },
      '20000',
    ],
    ['the others have room', { here: [machine('m'), machine('n', 10)], elsewhere: 0, round_ms }, '30000'],
    ['the others have none', { here: [machine('m'), machine('n', 11)], elsewhere: 0, round_ms }, 'capacity'],
    ['nobody knows what the others do', { here: [machine('m')], elsewhere: 3, round_ms }, '300000'],
    ['as few as may run', { here: [machine('m', 0, 10, 1)], elsewhere: 0, round_ms }, 'min_machines_running'],
    [
      'as few as may run, by what another one says',
      { here: [machine('m'), machine('n', 0, 10, 2)], elsewhere: 0, round_ms },
      'min_machines_running',
    ],
    ['those of other hosts count', { here: [machine('m', 0, 10, 2)], elsewhere: 2, round_ms }, '300000'],
  ])('%s', (_name, facts, expected) => {
    const { reasons, after_ms } = judgeInApp('m', facts);
    expect(reasons[0]?.kind ?? String(after_ms)).toBe(expected);
  });
});

test('what is due is taken once, and a later time replaces an earlier one', () => {
  const due = createDueTimes();
  due.set('one', 10);
  due.set('two', 20);
  due.set('one', 30);
  expect([due.take(20), due.take(20), due.has('one'), due.has('two')]).toEqual([['two'], [], true, false]);
  due.delete('one');
  expect(due.take(100)).toEqual([]);
});

test('slots run so many at once, in order, and go on after a failure', async () => {
  const slots = createSlots(2);
  const log: string[] = [];
  let running = 0;
  let most = 0;
  const work = (name: string) =>
    slots.run(async () => {
      running += 1;
      most = Math.max(most, running);
      log.push(name);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      if (name === 'b') throw new Error('b failed');
    });
  const outcomes = await Promise.allSettled(['a', 'b', 'c', 'd', 'e'].map(work));
  expect(outcomes.map(({ status }) => status)).toEqual([
    'fulfilled',
    'rejected',
    'fulfilled',
    'fulfilled',
    'fulfilled',
  ]);
  expect([log, most, slots.size]).toEqual([['a', 'b', 'c', 'd', 'e'], 2, 0]);
});
