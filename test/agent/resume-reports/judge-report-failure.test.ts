import { expect, test } from 'vitest';
import { judgeFailure } from '../../../src/agent/resume-reports/judge-report-failure.ts';
import { type AnsweredBy, UpstreamError } from '../../../src/client/upstream-error.ts';

interface More {
  readonly retryable?: boolean;
  readonly details?: unknown;
  readonly answeredBy?: AnsweredBy;
}

const failed = (status: number | undefined, code: string, more: More = {}) =>
  new UpstreamError('words', { status, code, retryable: false, sent: true, ...more });

test.each([
  [409, 'incarnation_conflict', { generation: 6 }, 6, /same snapshot.*remora machine adopt/],
  [409, 'rewound', { generation: 7 }, 7, /later incarnation of this machine \(generation 7\).*remora machine adopt/],
  [409, 'rewound', undefined, null, /later incarnation of this machine, so/],
  [409, 'rewound', { generation: 'x' }, null, /later incarnation of this machine, so/],
] as const)('%i %s with %j is a fence', (status, code, details, known_generation, reason) => {
  expect(judgeFailure(failed(status, code, { details }))).toEqual({
    type: 'fenced',
    code,
    known_generation,
    reason: expect.stringMatching(reason),
  });
});

test.each([
  [undefined, 'connection_failed', true, 'words'],
  [undefined, 'timeout', true, 'words'],
  [undefined, 'aborted', false, 'words'],
  [503, 'shutting_down', true, '503 shutting_down: words'],
  [429, 'too_many_requests', true, '429 too_many_requests: words'],
])('%s %s is worth another try', (status, code, retryable, reason) => {
  expect(judgeFailure(failed(status, code, { retryable }))).toEqual({
    type: 'retry',
    reason,
    retryAfter_ms: undefined,
    isForeign: false,
  });
});

test.each([
  [404, 'status_404', 'stranger'],
  [403, 'status_403', 'stranger'],
  [405, 'not_allowed', 'documented'],
  [200, 'invalid_answer', undefined],
] as const)('%i %s is no word of the platform', (status, code, answeredBy) => {
  expect(judgeFailure(failed(status, code, { ...(answeredBy === undefined ? {} : { answeredBy }) }))).toMatchObject({
    type: 'retry',
    isForeign: true,
  });
});

test.each([
  [404, 'not_found'],
  [401, 'unauthorized'],
  [400, 'invalid_request'],
  [409, 'invalid_state'],
  [400, 'rewound'],
])('%i %s of the platform stays as it is', (status, code) => {
  expect(judgeFailure(failed(status, code, { answeredBy: 'remora' }))).toMatchObject({ type: 'refused' });
});

test('what is no failure of a call is told as it is', () => {
  expect(judgeFailure(new Error('broken'))).toEqual({ type: 'refused', reason: 'broken' });
});
