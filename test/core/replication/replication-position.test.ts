import { describe, expect, it } from 'vitest';
import type { Transaction } from '../../../src/contract/replication.ts';
import {
  countMissed,
  decideStep,
  type KnownPosition,
  missedBetween,
  nextTxId,
} from '../../../src/core/replication/replication-position.ts';

const id = (n: number | bigint) => n.toString(16).padStart(16, '0');

function tx(n: number, fields: Partial<Transaction> = {}): Transaction {
  return {
    txID: id(n),
    postApplyChecksum: 'aaaaaaaaaaaaaaaa',
    pageSize: 4096,
    commit: 2,
    timestamp: '2026-01-01T00:00:00Z',
    ...fields,
  };
}

function known(n: number, fields: Partial<Transaction> = {}, standing: KnownPosition['standing'] = 'live') {
  return { transaction: tx(n, fields), standing };
}

describe('what a transaction does to a known position', () => {
  it.each([
    { name: 'the first of a new database', before: undefined, after: tx(1), step: { type: 'first', standing: 'live' } },
    {
      name: 'the first that is seen of an older database',
      before: undefined,
      after: tx(0x27),
      step: { type: 'first', standing: 'live', missed: { from: id(1), to: id(0x26) } },
    },
    { name: 'an id of zero', before: undefined, after: tx(0), step: { type: 'first', standing: 'live' } },
    { name: 'the next id', before: known(0x10), after: tx(0x11), step: { type: 'next', standing: 'live' } },
    {
      name: 'a jump from 0x10 to 0x15',
      before: known(0x10),
      after: tx(0x15),
      step: { type: 'gap', standing: 'live', missed: { from: id(0x11), to: id(0x14) } },
    },
    { name: 'the same again', before: known(0x10), after: tx(0x10), step: { type: 'repeat', standing: 'live' } },
    {
      name: 'the same again while rewound',
      before: known(0x10, {}, 'rewound'),
      after: tx(0x10),
      step: { type: 'repeat', standing: 'rewound' },
    },
    {
      name: 'the same id with another checksum',
      before: known(0x10),
      after: tx(0x10, { postApplyChecksum: 'bbbbbbbbbbbbbbbb' }),
      step: { type: 'diverged', standing: 'diverged' },
    },
    { name: 'a lower id', before: known(0x10), after: tx(0x0f), step: { type: 'rewound', standing: 'rewound' } },
    {
      name: 'the next id after a rewind',
      before: known(0x0f, {}, 'rewound'),
      after: tx(0x10),
      step: { type: 'next', standing: 'live' },
    },
    {
      name: 'a commit of 0',
      before: known(0x10),
      after: tx(0x11, { commit: 0 }),
      step: { type: 'dropped', standing: 'dropped' },
    },
    {
      name: 'a commit of 0 behind a jump',
      before: known(0x10),
      after: tx(0x12, { commit: 0 }),
      step: { type: 'dropped', standing: 'dropped', missed: { from: id(0x11), to: id(0x11) } },
    },
    {
      name: 'a commit of 0 at a lower id',
      before: known(0x10),
      after: tx(0x09, { commit: 0 }),
      step: { type: 'dropped', standing: 'dropped' },
    },
    {
      name: 'a database made again after it was dropped',
      before: known(0x10, { commit: 0 }, 'dropped'),
      after: tx(1),
      step: { type: 'first', standing: 'live' },
    },
    {
      name: 'a dropped database that goes on counting',
      before: known(0x10, { commit: 0 }, 'dropped'),
      after: tx(0x11),
      step: { type: 'next', standing: 'live' },
    },
  ])('$name', ({ before, after, step }) => {
    expect(decideStep(before, after)).toEqual(step);
  });

  it('keeps every bit of ids beyond what a number holds', () => {
    const before = { transaction: tx(1, { txID: 'ffffffffffffff00' }), standing: 'live' as const };
    expect(decideStep(before, tx(1, { txID: 'ffffffffffffff01' })).type).toBe('next');
    expect(decideStep(before, tx(1, { txID: 'ffffffffffffff03' })).missed).toEqual({
      from: 'ffffffffffffff01',
      to: 'ffffffffffffff02',
    });
    expect(decideStep(before, tx(1, { txID: '8000000000000000' })).type).toBe('rewound');
  });

  it('counts and steps over ids as 64-bit numbers', () => {
    expect(nextTxId('00000000000000ff')).toBe('0000000000000100');
    expect(nextTxId('001fffffffffffff')).toBe('0020000000000000');
    expect(missedBetween(id(5), id(5))).toBeUndefined();
    expect(missedBetween(id(6), id(5))).toBeUndefined();
    expect(missedBetween(id(5), id(6))).toEqual({ from: id(5), to: id(5) });
    expect(countMissed({ from: id(0x11), to: id(0x14) })).toBe(4);
  });
});
