// What a row becomes after a try of its step: every state with every outcome.
import { expect, test } from 'vitest';
import type { ExtensionRow } from '../../../src/platform/extensions/extension-row.ts';
import { toNewRow } from '../../../src/platform/extensions/new-row.ts';
import { settleStep } from '../../../src/platform/extensions/settle-step.ts';
import type { StepOutcome } from '../../../src/platform/extensions/step-outcome.ts';
import { defaultStepTimes } from '../../../src/platform/extensions/step-times.ts';

const NOW = 1_800_000_000_000;
const DAY = 86_400_000;
const row = toNewRow(NOW - 1_000, {
  organization_id: 'org',
  provider: 'kv',
  name: 'my-kv',
  app: null,
  user_id: 'u',
  user_email: 'u@x',
  user_role: 'admin',
  primary_region: null,
  read_regions: [],
});

const answer = {
  provider_id: 'r-1',
  config: new Map(),
  name: undefined,
  platform_app_name: undefined,
  status: undefined,
};
const provisioned: StepOutcome = { type: 'provisioned', answer };
const read = (status: string | undefined, asked_at = NOW - 10): StepOutcome => ({
  type: 'read',
  resource: { status, plan: undefined, resource: '{}' },
  asked_at,
});
const missing: StepOutcome = { type: 'missing', message: '404' };
const updated: StepOutcome = { type: 'updated', answer: {} };
const deleted: StepOutcome = { type: 'deleted' };
const again = (isDown = false, retryAfter_ms?: number): StepOutcome => ({
  type: 'again',
  code: 'c',
  message: 'm',
  retryAfter_ms,
  isDown,
});
const refused: StepOutcome = { type: 'refused', code: 'c', message: 'm' };

const asking = { state: 'provisioning', step: 'provision', tries: 1 } as const;
const polling = { state: 'provisioning', step: 'read', provider_id: 'r-1', tries: 1 } as const;
const updating = { state: 'updating', step: 'update', provider_id: 'r-1', tries: 1, revision: 1 } as const;
const refreshing = { state: 'ready', step: 'read', provider_id: 'r-1', tries: 1 } as const;
const removing = { state: 'deleting', step: 'delete', provider_id: 'r-1', tries: 1 } as const;
const finding = { state: 'deleting', step: 'provision', tries: 1 } as const;

/** `place` is `state/step`; `due_s` is the seconds until the step is due. */
type Expected = readonly [place: string, due_s: number | null, code?: string];

const table: readonly (readonly [
  what: string,
  now: Partial<ExtensionRow>,
  outcome: StepOutcome,
  expected: Expected,
])[] = [
  ['an answer', asking, provisioned, ['provisioning/read', 0]],
  ['an answer with its status', asking, { ...provisioned, answer: { ...answer, status: 'ready' } }, ['ready/-', null]],
  [
    'an answer that says that it takes time',
    asking,
    { ...provisioned, answer: { ...answer, status: 'provisioning' } },
    ['provisioning/read', 0],
  ],
  ['an answer after a webhook', { ...asking, status: 'ready' }, provisioned, ['ready/-', null]],
  ['an answer after a change', { ...asking, revision: 1, status: 'ready' }, provisioned, ['updating/update', 0]],
  ['no answer', asking, again(), ['provisioning/provision', 1, 'c']],
  ['no answer for the seventh time', { ...asking, tries: 7 }, again(), ['provisioning/provision', 60, 'c']],
  ['a wish for patience', asking, again(false, 90_000), ['provisioning/provision', 90, 'c']],
  ['a provider that is down', asking, again(true), ['provisioning/provision', 1, 'c']],
  [
    'one that is down for five minutes',
    { ...asking, trouble_since: NOW - 300_000 },
    again(true),
    ['failed/-', null, 'c'],
  ],
  [
    'one that is slow after it was down',
    { ...asking, trouble_since: NOW - 300_000 },
    again(),
    ['provisioning/provision', 1, 'c'],
  ],
  ['a day', { ...asking, begun_at: NOW - DAY }, again(), ['failed/-', null, 'c']],
  ['a refusal', asking, refused, ['failed/-', null, 'c']],

  ['a status', polling, read('ready'), ['ready/-', null]],
  ['no status', polling, read(undefined), ['ready/-', null]],
  ['provisioning', polling, read('provisioning'), ['provisioning/read', 1]],
  ['provisioning again', { ...polling, tries: 4 }, read('provisioning'), ['provisioning/read', 8]],
  [
    'provisioning for a day',
    { ...polling, begun_at: NOW - DAY },
    read('provisioning'),
    ['failed/-', null, 'provision_timeout'],
  ],
  [
    'a status that is older than a webhook',
    { ...polling, status: 'sleeping', heard_at: NOW - 5 },
    read('provisioning'),
    ['ready/-', null],
  ],
  ['a status after a change', { ...polling, revision: 1 }, read('ready'), ['updating/update', 0]],
  ['no resource', polling, missing, ['ready/-', null]],
  ['no answer to a poll', polling, again(true), ['provisioning/read', 1, 'c']],
  ['the fifth one', { ...polling, tries: 5 }, again(true), ['ready/-', null]],
  [
    'the fifth one while it says provisioning',
    { ...polling, tries: 5, status: 'provisioning' },
    again(true),
    ['provisioning/read', 16, 'c'],
  ],
  ['a refused poll', polling, refused, ['ready/-', null]],

  ['a refresh', refreshing, read('sleeping'), ['ready/-', null]],
  ['a refresh of what is gone', refreshing, missing, ['ready/-', null, 'unknown_at_provider']],
  ['a refused refresh', refreshing, refused, ['ready/-', null]],

  ['an update', updating, updated, ['ready/-', null]],
  ['an update that is old already', { ...updating, revision: 2 }, updated, ['updating/update', 0]],
  ['an update without an answer', updating, again(), ['updating/update', 1, 'c']],
  ['an update at one that is down', { ...updating, trouble_since: NOW - 300_000 }, again(true), ['ready/-', null, 'c']],
  ['a refused update', updating, refused, ['ready/-', null, 'c']],

  ['a removal', removing, deleted, ['deleted/-', null]],
  ['a removal without an answer', removing, again(true), ['deleting/delete', 1, 'c']],
  [
    'the twentieth',
    { ...removing, tries: 20, trouble_since: 1, begun_at: 1 },
    again(true),
    ['deleting/delete', 600, 'c'],
  ],
  ['a refused removal', removing, refused, ['deleting/delete', 1, 'c']],
  ['a removal that finds the id', finding, provisioned, ['deleting/delete', 0]],
  ['a removal that does not', finding, refused, ['deleting/delete', 0, 'c']],
  ['a removal that is not answered', finding, again(true), ['deleting/provision', 1, 'c']],
];

test.each(table)('%s', (_, now, outcome, [place, due_s, code]) => {
  const before: ExtensionRow = { ...row, due_at: NOW, claim: 'me', claim_until: NOW + 1, ...now };
  const claimed: ExtensionRow = { ...before, revision: Math.min(before.revision, 1) };
  const of = before.step === 'provision' || before.step === 'read' ? { ...claimed, revision: 0 } : claimed;
  const change = settleStep({ row: before, claimed: of, outcome, now_ms: NOW, times: defaultStepTimes });
  const after = { ...before, ...change };
  const due = after.due_at === null ? null : (after.due_at - NOW) / 1_000;
  expect([`${after.state}/${after.step ?? '-'}`, due, after.error?.code]).toEqual([place, due_s, code]);
  expect([after.claim, after.claim_until]).toEqual([null, null]);
});

test('what was wanted meanwhile is what comes next, and the id of the provider is kept', () => {
  const claimed: ExtensionRow = { ...row, ...asking };
  for (const now of [removing, { ...asking, state: 'deleting', step: 'delete' } as const]) {
    const before: ExtensionRow = { ...claimed, ...now, provider_id: null, due_at: NOW };
    const after = {
      ...before,
      ...settleStep({ row: before, claimed, outcome: provisioned, now_ms: NOW, times: defaultStepTimes }),
    };
    expect([after.state, after.step, after.provider_id, after.tries]).toEqual(['deleting', 'delete', 'r-1', 0]);
  }
});
