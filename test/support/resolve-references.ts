// A part of an OpenAPI document with every reference replaced by what it leads to, for tests that read schemas.

/** `schemas`: the components by name. Schemas that hold themselves are not among ours. */
export function resolveReferences(value: unknown, schemas: Readonly<Record<string, unknown>>): unknown {
  if (Array.isArray(value)) return value.map((each) => resolveReferences(each, schemas));
  if (typeof value !== 'object' || value === null) return value;
  if ('$ref' in value) return resolveReferences(schemas[String(value.$ref).replace(/^.*\//, '')], schemas);
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, resolveReferences(each, schemas)]));
}
