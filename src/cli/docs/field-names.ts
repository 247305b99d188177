// The names of the fields of a schema. Pure.
import { z } from 'zod';
import { toSchema } from '../../contract/lazy-zod.ts';

/** Each name once, in the order of the schema; a union has those of all variants. Empty for a schema that is no record. */
export function fieldNames(schema: z.ZodType): string[] {
  const json = z.toJSONSchema(toSchema(schema), { io: 'input', unrepresentable: 'any' });
  return [...new Set(propertiesOf(json))];
}

function propertiesOf(json: z.core.JSONSchema.JSONSchema): string[] {
  const variants = [...(json.anyOf ?? []), ...(json.oneOf ?? [])];
  const nested = variants.flatMap((variant) => (typeof variant === 'boolean' ? [] : propertiesOf(variant)));
  return [...Object.keys(json.properties ?? {}), ...nested];
}
