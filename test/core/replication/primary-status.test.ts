import { describe, expect, it } from 'vitest';
import { type Primary, samePrimary, toPrimary, toPrimaryStatus } from '../../../src/core/replication/primary-status.ts';

const self: Primary = { type: 'self' };
const a: Primary = { type: 'remote', hostname: 'a' };
const b: Primary = { type: 'remote', hostname: 'b' };
const unknown: Primary = { type: 'unknown' };

describe('who the primary is', () => {
  it.each([
    { status: { isPrimary: true }, primary: self },
    { status: { isPrimary: true, hostname: 'me' }, primary: self },
    { status: { isPrimary: false, hostname: 'a' }, primary: a },
    {
      status: { isPrimary: false, hostname: 'e784079b449483' },
      primary: { type: 'remote', hostname: 'e784079b449483' },
    },
    { status: { isPrimary: false }, primary: unknown },
    { status: { isPrimary: false, hostname: '' }, primary: unknown },
    { status: undefined, primary: unknown },
  ])('$status', ({ status, primary }) => {
    expect(toPrimary(status)).toEqual(primary);
  });

  it('is written as a node writes it', () => {
    expect([self, a, unknown].map(toPrimaryStatus)).toEqual([
      { isPrimary: true },
      { isPrimary: false, hostname: 'a' },
      { isPrimary: false },
    ]);
  });

  it('is the same only with the same name', () => {
    const all = [self, a, b, unknown];
    expect(all.map((one) => all.filter((other) => samePrimary(one, other)).length)).toEqual([1, 1, 1, 1]);
    expect(samePrimary(a, { type: 'remote', hostname: 'a' })).toBe(true);
  });
});
