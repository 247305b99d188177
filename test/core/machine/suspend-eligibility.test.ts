import { describe, expect, it } from 'vitest';
import { judgeEligibility, type MachineFacts } from '../../../src/core/machine/suspend-eligibility.ts';

const good: MachineFacts = { memory_mb: 2_048, swap_mb: 0, schedule: null, updated_at: '2024-06-20T20:00:00Z' };

describe('the conditions of a suspend', () => {
  it('lets a machine at every limit be suspended', () => {
    const { eligible, conditions } = judgeEligibility(good);
    expect(eligible).toBe(true);
    expect(conditions.map((condition) => condition.verdict)).toEqual(['ok', 'ok', 'ok', 'ok']);
  });

  it.each([
    ['memory', { memory_mb: 2_049 }],
    ['swap', { swap_mb: 1 }],
    ['schedule', { schedule: 'daily' }],
    ['last_update', { updated_at: '2024-06-20T19:59:59.999Z' }],
  ])('names %s as the one reason', (condition, change) => {
    const result = judgeEligibility({ ...good, ...change });
    expect(result.eligible).toBe(false);
    expect(result.conditions.filter((each) => each.verdict === 'fails').map((each) => each.condition)).toEqual([
      condition,
    ]);
  });

  it('names every reason, not only the first', () => {
    const facts = { memory_mb: 4_096, swap_mb: 512, schedule: 'hourly', updated_at: '2023-01-01T00:00:00Z' };
    expect(judgeEligibility(facts).conditions.every((each) => each.verdict === 'fails')).toBe(true);
  });

  it.each([
    ['memory', { memory_mb: undefined }],
    ['swap', { swap_mb: undefined }],
    ['schedule', { schedule: undefined }],
    ['last_update', { updated_at: undefined }],
    ['last_update', { updated_at: 'yesterday' }],
  ])('does not let an unknown %s stand in the way', (condition, change) => {
    const result = judgeEligibility({ ...good, ...change });
    expect(result.eligible).toBe(true);
    expect(result.conditions.find((each) => each.condition === condition)?.verdict).toBe('unknown');
  });
});
