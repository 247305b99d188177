// What people read of a field that is wrong: our words, for every field of every operation, whatever is put there.
import { expect, test } from 'vitest';
import { z } from 'zod';
import { agentOperations } from '../../src/contract/agent-operations.ts';
import { toFieldProblem } from '../../src/contract/field-problem.ts';
import type { Operation } from '../../src/contract/operation.ts';
import { platformOperations } from '../../src/contract/platform-operations.ts';
import { RemoraError } from '../../src/core/remora-error.ts';
import { parseWith } from '../../src/http/parse-with.ts';

const oddities = [
  null,
  7,
  -1,
  1.5,
  Number.NaN,
  true,
  '',
  'x',
  'x'.repeat(10_000),
  [],
  [1],
  {},
  { a: 1 },
  [[]],
  { auth: 'x' },
];
/** What the library says by itself. */
const foreign =
  /Invalid|Too (?:big|small)|Unrecognized|received|\bstring\b|\bboolean\b|\barray\b|\bint\b|undefined|zod/i;

function toMessages(schema: z.ZodType, value: unknown): string[] {
  try {
    parseWith(schema, value, 'body');
    return [];
  } catch (error) {
    if (!(error instanceof RemoraError)) throw error;
    const { fields } = error.details as { fields: { message: string }[] };
    return fields.map(({ message }) => message);
  }
}

test('every problem is said in our words', () => {
  const wrong = new Set<string>();
  let said = 0;
  const note = (id: string, messages: readonly string[]) => {
    said += messages.length;
    for (const message of messages)
      if (message === '' || foreign.test(message)) wrong.add(`${id}: ${message.slice(0, 200)}`);
  };
  for (const [id, operation] of Object.entries<Operation>({ ...agentOperations, ...platformOperations })) {
    for (const schema of [operation.body, operation.query, operation.params]) {
      if (schema === undefined) continue;
      for (const value of oddities) note(id, toMessages(schema, value));
      const names =
        schema instanceof z.ZodObject ? Object.keys(schema.shape) : ['url_settings', 'labels', 'provider', 'path'];
      for (const name of names)
        for (const value of oddities) note(`${id}.${name}`, toMessages(schema, { [name]: value }));
    }
  }
  expect([...wrong]).toEqual([]);
  expect(said).toBeGreaterThan(1_000);
});

test.each([
  [z.object({ a: z.string() }), {}, 'is missing; expected text'],
  [z.object({ a: z.string() }), { a: 1 }, 'expected text'],
  [z.object({ a: z.enum(['x', 'y']) }), { a: 'z' }, 'expected one of x, y'],
  [z.object({ a: z.email() }), { a: 'z' }, 'expected an email address'],
  [
    z.discriminatedUnion('a', [z.object({ a: z.literal('x') }), z.object({ a: z.literal('y') })]),
    { a: 'z' },
    'expected one of x, y',
  ],
  [z.object({ a: z.string().max(1) }), { a: 'zz' }, 'expected at most 1 character'],
  [z.object({ a: z.array(z.int()).min(2) }), { a: [1] }, 'expected at least 2 entries'],
  [z.object({ a: z.number().lt(3) }), { a: 3 }, 'expected less than 3'],
  [z.strictObject({}), { b: 1 }, 'there is no b here'],
  [z.object({ a: z.string().regex(/x/, 'expected an x') }), { a: 'y' }, 'expected an x'],
])('%# is said so', (schema, value, text) => {
  expect(schema.safeParse(value, { error: toFieldProblem }).error?.issues[0]?.message).toBe(text);
});

test('a body that is wrong a thousand times is answered shortly', () => {
  const body = { notices: Array.from({ length: 1_000 }, () => ({})) };
  expect(toMessages(platformOperations.postPortNotices.body, body)).toHaveLength(20);
});
