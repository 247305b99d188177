// The schemas of an OpenAPI document: a schema with a name appears once, under that name, and every use of it is a reference.
import { z } from 'zod';
import { toSchema as toMadeSchema } from '../contract/lazy-zod.ts';

export type Json = Record<string, unknown>;
type Io = 'input' | 'output';

export interface OpenApiSchemas {
  /** A reference for a schema with a name, else the schema with references inside. */
  toSchema(schema: z.ZodType, io: Io): Json;
  /** Every schema that was referred to, by name. */
  components(): Json;
}

const PREFIX = '#/components/schemas/';

/**
 * A request may leave out a field with a default, and an answer always has it: a schema that is used in both, and differs, has
 * two names.
 */
function toNameApart(id: string, io: Io): string {
  const plain: Io = id.endsWith('Request') ? 'input' : 'output';
  return io === plain ? id : `${id}${io === 'input' ? 'Input' : 'Output'}`;
}

export function createOpenApiSchemas(names: ReadonlyMap<z.ZodType, string>): OpenApiSchemas {
  const registry = z.registry<{ id: string }>();
  for (const [schema, id] of names) registry.add(schema, { id });
  const output = toDefinitions(registry, 'output');
  const input = toDefinitions(registry, 'input');
  const apart = findApart(output, input);
  const nameOf = (id: string, io: Io) => (apart.has(id) ? toNameApart(id, io) : id);
  const used = new Map<string, Json>();

  /** Adds a schema to the components, and every schema that it refers to. */
  function use(id: string, io: Io): Json {
    const name = nameOf(id, io);
    if (!used.has(name)) {
      used.set(name, {});
      used.set(name, withReferences((io === 'input' ? input : output)[id], io));
    }
    return { $ref: PREFIX + name };
  }

  function withReferences(value: unknown, io: Io): Json {
    return rewrite(value, (id) => use(id, io)) as Json;
  }

  return {
    toSchema(given, io) {
      const schema = toMadeSchema(given);
      const id = names.get(schema);
      if (id !== undefined) return use(id, io);
      const { $defs: _, ...rest } = z.toJSONSchema(schema, { ...options(io), metadata: registry });
      return withReferences(rest, io);
    },
    components: () => Object.fromEntries([...used].sort(([a], [b]) => (a < b ? -1 : 1))),
  };
}

function toDefinitions(registry: z.core.$ZodRegistry<{ id: string }>, io: Io): Readonly<Record<string, unknown>> {
  return z.toJSONSchema(registry, { ...options(io), uri: (id) => PREFIX + id }).schemas;
}

/** The names of schemas that differ between a request and an answer, and of those that refer to one of these. */
function findApart(output: Readonly<Record<string, unknown>>, input: Readonly<Record<string, unknown>>): Set<string> {
  const apart = new Set(Object.keys(output).filter((id) => JSON.stringify(output[id]) !== JSON.stringify(input[id])));
  const references = new Map(
    Object.entries(input).map(([id, value]) => {
      const found: string[] = [];
      rewrite(value, (reference) => {
        found.push(reference);
        return {};
      });
      return [id, found];
    }),
  );
  for (let before = -1; before !== apart.size; ) {
    before = apart.size;
    for (const [id, found] of references) if (found.some((each) => apart.has(each))) apart.add(id);
  }
  return apart;
}

/** A copy of the value with each reference replaced, and without the keys that only a schema on its own has. */
function rewrite(value: unknown, toReference: (id: string) => Json): unknown {
  if (Array.isArray(value)) return value.map((each) => rewrite(each, toReference));
  if (typeof value !== 'object' || value === null) return value;
  if ('$ref' in value) return toReference(String(value.$ref).replace(/^.*\//, ''));
  const kept = Object.entries(value).filter(
    ([key, each]) => !['$schema', '$id'].includes(key) && !isOwnId(key, each, value),
  );
  return Object.fromEntries(kept.map(([key, each]) => [key, rewrite(each, toReference)]));
}

/** True for the mark of the registry, and false for a field called `id`, which is a schema. */
function isOwnId(key: string, value: unknown, of: object): boolean {
  return key === 'id' && typeof value === 'string' && ('type' in of || 'anyOf' in of || '$ref' in of);
}

/** Unknown fields are ignored wherever a schema does not say otherwise, so the document does not forbid them. */
function options(io: Io) {
  return {
    io,
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodTypes; jsonSchema: z.core.JSONSchema.BaseSchema }) {
      const { def } = zodSchema._zod;
      if (def.type === 'object' && !('catchall' in def && def.catchall)) delete jsonSchema.additionalProperties;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    },
  } as const;
}
