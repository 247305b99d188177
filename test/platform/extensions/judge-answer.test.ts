import { expect, test } from 'vitest';
import { RemoraError } from '../../../src/core/remora-error.ts';
import { judgeAnswer, judgeFailure } from '../../../src/platform/extensions/judge-answer.ts';

test.each([
  [200, 'done', undefined],
  [201, 'done', undefined],
  [204, 'done', undefined],
  [301, 'refused', 'invalid_answer'],
  [304, 'refused', 'invalid_answer'],
  [308, 'refused', 'invalid_answer'],
  [400, 'refused', 'provider_refused'],
  [401, 'refused', 'provider_refused'],
  [404, 'refused', 'provider_refused'],
  [409, 'refused', 'provider_refused'],
  [408, 'again', 'provider_busy'],
  [425, 'again', 'provider_busy'],
  [429, 'again', 'provider_busy'],
  [503, 'again', 'provider_busy'],
  [500, 'again', 'provider_down'],
  [501, 'refused', 'provider_refused'],
  [502, 'again', 'provider_down'],
  [504, 'again', 'provider_down'],
])('%s is %s %s', (status, type, code) => {
  const verdict = judgeAnswer({ status, text: '{"message":"words"}', retryAfter_ms: 7 });
  expect(verdict).toMatchObject(code === undefined ? { type, status } : { type, code });
  if (verdict.type === 'done') return;
  expect(verdict.message).toContain(`${status}: words`);
  if (verdict.type === 'again') expect(verdict).toMatchObject({ retryAfter_ms: 7, isDown: code === 'provider_down' });
});

test('no answer is asked for again; what is no failure of the call is thrown', () => {
  expect(judgeFailure(new RemoraError('upstream_timeout', 'late'))).toMatchObject({
    code: 'provider_slow',
    isDown: false,
  });
  expect(judgeFailure(new RemoraError('upstream_failed', 'closed'))).toMatchObject({
    code: 'provider_down',
    isDown: true,
  });
  for (const error of [new RemoraError('internal', 'the database is away'), new Error('ours')]) {
    expect(() => judgeFailure(error)).toThrow(error);
  }
});
