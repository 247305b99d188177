// Values for a JSON schema of our own OpenAPI documents: one that fits, and then every way to spoil one place of it.
import { z } from 'zod';

export interface JsonSchema {
  readonly type?: string | readonly string[] | undefined;
  readonly const?: unknown;
  readonly enum?: readonly unknown[] | undefined;
  readonly anyOf?: readonly JsonSchema[] | undefined;
  readonly oneOf?: readonly JsonSchema[] | undefined;
  readonly properties?: Readonly<Record<string, JsonSchema>> | undefined;
  readonly items?: JsonSchema | undefined;
  readonly pattern?: string | undefined;
  readonly minLength?: number | undefined;
  readonly minimum?: number | undefined;
}

export const jsonSchema: z.ZodType<JsonSchema> = z.lazy(() =>
  z.object({
    type: z.union([z.string(), z.array(z.string())]).optional(),
    const: z.unknown().optional(),
    enum: z.array(z.unknown()).optional(),
    anyOf: z.array(jsonSchema).optional(),
    oneOf: z.array(jsonSchema).optional(),
    properties: z.record(z.string(), jsonSchema).optional(),
    items: jsonSchema.optional(),
    pattern: z.string().optional(),
    minLength: z.number().optional(),
    minimum: z.number().optional(),
  }),
);

/** What patterns ask for; the first that fits is taken. */
const texts = ['x', '/x', 'ab'.repeat(16), '2026-01-02T03:04:05.678Z', '2026-01-31', '30s', '7', 'x'.repeat(64)];

/** `known`: what fields of these names have to be, so that the call gets further than its parse. */
export function toSample(schema: JsonSchema, known: Readonly<Record<string, unknown>>): unknown {
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return schema.enum[0];
  const [variant] = schema.anyOf ?? schema.oneOf ?? [];
  if (variant !== undefined) return toSample(variant, known);
  switch (typeof schema.type === 'object' ? schema.type[0] : schema.type) {
    case 'object': {
      const fields = Object.entries(schema.properties ?? {});
      return Object.fromEntries(
        fields.flatMap(([name, field]) => {
          const value = Object.hasOwn(known, name) ? known[name] : toSample(field, known);
          return value === undefined ? [] : [[name, value]];
        }),
      );
    }
    case 'array':
      return schema.items === undefined ? [] : [toSample(schema.items, known)];
    case 'string': {
      const { pattern = '', minLength = 0 } = schema;
      return texts.find((text) => text.length >= minLength && new RegExp(pattern).test(text)) ?? '';
    }
    case 'integer':
    case 'number':
      return Math.max(schema.minimum ?? 1, 1);
    case 'boolean':
      return true;
    default:
      return null;
  }
}

/** What parsers and stores trip over. */
export const oddities: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  2 ** 53,
  1e308,
  '',
  '\u0000',
  '\uD800',
  '../..',
  "' OR 1=1 --",
  '{}',
  'x'.repeat(5_000),
  [],
  [null],
  {},
  { constructor: { prototype: 1 } },
];

/** The value itself, then with each of its places absent, spoiled, and given a field that nobody knows. */
export function* toSpoiled(value: unknown): Generator<unknown> {
  yield value;
  for (const odd of oddities) yield odd;
  if (Array.isArray(value)) {
    for (const [at, item] of value.entries()) {
      for (const spoiled of toSpoiled(item)) yield value.with(at, spoiled);
    }
    yield Array.from({ length: 2_000 }, () => value[0]);
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  yield { ...value, nonsense: 1 };
  yield JSON.parse(JSON.stringify({ '': 0, ...value }).replace('{', '{"__proto__":{"a":1},'));
  for (const [name, field] of Object.entries(value)) {
    const { [name]: _, ...rest } = value as Record<string, unknown>;
    yield rest;
    for (const spoiled of toSpoiled(field)) yield { ...rest, [name]: spoiled };
  }
}
