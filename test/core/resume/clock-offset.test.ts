import { expect, test } from 'vitest';
import { toClockOffset } from '../../../src/core/resume/clock-offset.ts';

test.each([
  ['the same time', 0, 100, 1_000_050, 1_000_000, 0, 50],
  ['ours is behind by a suspend', 0, 20, 1_000_010, 1_014_000, 14_000, 10],
  ['ours is ahead', 5_000, 5_002, 1_000_000, 989_999, -10_000, 1],
  ['no time passed', 7, 7, 1_000, 1_500, 500, 0],
  ['a monotonic clock that went back counts as none', 9, 7, 1_000, 1_500, 500, 0],
])('%s', (_, asked, answered, wall, server, offset_ms, uncertainty_ms) => {
  const reading = { asked_mono_ms: asked, answered_mono_ms: answered, answered_wall_ms: wall, server_ms: server };
  expect(toClockOffset(reading)).toEqual({ offset_ms, uncertainty_ms });
});
