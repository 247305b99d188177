// Every record, request, response and event of the contract against its golden examples: what is valid comes out as it went
// in, and what is not fails at the field that is wrong.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';

const source = new URL('../../src/contract/', import.meta.url).pathname;
const golden = new URL('./golden/', import.meta.url).pathname;
const withoutRecords = [
  'agent-identity',
  'agent-operations',
  'channel',
  'reach-errors',
  'duration',
  'error-texts',
  'listeners',
  'operation',
  'platform-operations',
  'query-values',
  'sources',
  'field-problem',
  'lazy-zod',
  'schema-names',
];

const invalid = z.strictObject({
  field: z.string(),
  /** The whole value, or a change of the first valid one. */
  value: z.unknown().optional(),
  with: z.record(z.string(), z.unknown()).optional(),
  without: z.string().optional(),
});
const examples = z.strictObject({
  valid: z.array(z.unknown()).min(1),
  /** What is read as something else. */
  read: z.array(z.strictObject({ from: z.unknown(), as: z.unknown() })).default([]),
  invalid: z.array(invalid).min(1),
});
type Examples = z.infer<typeof examples>;
const file = z.record(z.string(), examples);

const nouns = readdirSync(source)
  .filter((name) => name.endsWith('.ts'))
  .map((name) => name.slice(0, -3))
  .filter((noun) => !withoutRecords.includes(noun));

async function readSchemas(noun: string): Promise<Map<string, z.ZodType>> {
  const module: Record<string, unknown> = await import(join(source, `${noun}.ts`));
  const schemas = new Map<string, z.ZodType>();
  for (const [name, value] of Object.entries(module)) if (value instanceof z.ZodType) schemas.set(name, value);
  return schemas;
}

function toInvalid(example: z.infer<typeof invalid>, { valid }: Examples): unknown {
  if (example.with === undefined && example.without === undefined) return example.value;
  const base = z.record(z.string(), z.unknown()).parse(valid[0]);
  const changed = { ...base, ...example.with };
  if (example.without !== undefined) delete changed[example.without];
  return changed;
}

describe.each(nouns)('%s', async (noun) => {
  const schemas = await readSchemas(noun);
  const goldens = file.parse(JSON.parse(readFileSync(join(golden, `${noun}.json`), 'utf8')));

  test('every schema has golden examples, and no other', () => {
    expect(Object.keys(goldens).sort()).toEqual([...schemas.keys()].sort());
  });

  for (const [name, schema] of schemas) {
    const set = goldens[name];
    if (set === undefined) continue;
    test.each(set.valid.map((value) => ({ value })))(`${name} keeps %j`, ({ value }) => {
      expect(schema.parse(value)).toStrictEqual(value);
    });
    test.each(set.read)(`${name} reads $from`, (example) => {
      expect(schema.parse(example.from)).toStrictEqual(example.as);
    });
    test.each(set.invalid)(`${name} refuses %j`, (example) => {
      const result = schema.safeParse(toInvalid(example, set));
      expect(result.error?.issues.map((issue) => issue.path.join('.'))).toEqual([example.field]);
    });
  }
});

test('no golden file is left without its noun', () => {
  expect(readdirSync(golden).sort()).toEqual(nouns.map((noun) => `${noun}.json`).sort());
});
