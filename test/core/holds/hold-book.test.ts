import { describe, expect, it } from 'vitest';
import {
  createHoldBook,
  HOLDS_MAX,
  type HoldRequest,
  RESUME_GRACE_MS,
  WALL_CAP_MS,
} from '../../../src/core/holds/hold-book.ts';

const running = () => true;
const request = (parts: Partial<HoldRequest> = {}): HoldRequest => ({
  name: 'h',
  mode: 'block',
  reason: undefined,
  process: undefined,
  connection: false,
  expire_ms: 60_000,
  ...parts,
});
const at = (run_ms: number, wall_ms = run_ms) => ({ run_ms, wall_ms });

describe('when a hold ends', () => {
  it('ends at its run time and not before', () => {
    const book = createHoldBook();
    book.put(request(), at(0));
    expect(book.sweep(at(59_999), running)).toEqual([]);
    expect(book.sweep(at(60_000), running)).toMatchObject([{ hold: { name: 'h' }, why: 'expired' }]);
    expect(book.get('h')).toBeUndefined();
  });

  it('is not eaten by an hour asleep', () => {
    const book = createHoldBook();
    book.put(request(), at(0));
    expect(book.sweep(at(1_000, 3_601_000), running)).toEqual([]);
  });

  it('ends at the cap of wall time however often it is renewed', () => {
    const book = createHoldBook();
    for (let hour = 0; hour < 24; hour += 1) book.put(request({ expire_ms: 3_600_000 }), at(hour * 3_600_000));
    expect(book.sweep(at(WALL_CAP_MS - 1), running)).toEqual([]);
    book.put(request({ expire_ms: 3_600_000 }), at(WALL_CAP_MS - 1));
    expect(book.sweep(at(WALL_CAP_MS), running)).toMatchObject([{ why: 'wall_cap' }]);
  });

  it('ends with its process, also in the grace after a resume', () => {
    const book = createHoldBook();
    book.put(request({ process: { pid: 7, started: '100' } }), at(0));
    book.resume(at(1));
    expect(book.sweep(at(2), running)).toEqual([]);
    expect(book.sweep(at(2), () => false)).toMatchObject([{ why: 'process_gone' }]);
  });

  it('lasts as long as its connection', () => {
    const book = createHoldBook();
    book.put(request({ connection: true, expire_ms: 0 }), at(0));
    expect(book.sweep(at(WALL_CAP_MS - 1), running)).toEqual([]);
  });

  it('gives a hold that would end time to be renewed after a resume', () => {
    const book = createHoldBook();
    book.put(request(), at(0));
    book.resume(at(60_000, 999_000));
    expect(book.sweep(at(60_000 + RESUME_GRACE_MS - 1), running)).toEqual([]);
    expect(book.sweep(at(60_000 + RESUME_GRACE_MS), running)).toHaveLength(1);
  });
});

describe('renewing', () => {
  it('moves the deadline and keeps the beginning', () => {
    const book = createHoldBook();
    book.put(request(), at(0));
    book.put(request({ reason: 'more' }), at(50_000));
    expect(book.get('h')).toMatchObject({ created_wall_ms: 0, deadline_run_ms: 110_000, reason: 'more' });
    expect(book.all()).toHaveLength(1);
  });

  it('has room for so many and always for a renewal', () => {
    const book = createHoldBook();
    for (let index = 0; index < HOLDS_MAX; index += 1) book.put(request({ name: `h${index}` }), at(0));
    expect(book.put(request({ name: 'one-more' }), at(0)).type).toBe('full');
    expect(book.put(request({ name: 'h0' }), at(0)).type).toBe('held');
  });
});
