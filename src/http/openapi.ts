// The contract as an OpenAPI 3.1 document, made from the operations. Nothing is computed before it is asked for.
import { z } from 'zod';
import { errorBody, errorStatus } from '../contract/errors.ts';
import type { Operation, Operations } from '../contract/operation.ts';
import { toSchemaNames } from '../contract/schema-names.ts';
import { sources } from '../contract/sources.ts';
import { createOpenApiSchemas, type Json, type OpenApiSchemas } from './openapi-schemas.ts';

export interface OpenApiInfo {
  readonly title: string;
  readonly version: string;
  readonly description?: string;
}

export interface OpenApiServer {
  readonly url: string;
  readonly description?: string;
}

/** Where the API is served, and what the bearer token is; `isOptional`: calls without a token are possible. */
export interface OpenApiPlace {
  readonly servers: readonly OpenApiServer[];
  readonly bearer: { readonly description: string; readonly isOptional?: true };
}

const ALL_METHODS = ['get', 'post', 'put', 'patch', 'delete', 'options', 'head'] as const;
/** The operations cite these sources by their short names. */
const SOURCES = Object.entries(sources).map(([name, source]) => `${name}: ${source.title}.`);
const SERVED_AT =
  '`x-served-at` of an operation names the listeners at which it is served; at every other one it is refused.';
const DESCRIPTION = [...SOURCES, SERVED_AT].join('\n');
const STREAM_TYPE = 'application/x-ndjson';

/**
 * An operation that is served only on an upgrade appears beside the plain one of the same path, under `x-websocket`, and one that is a
 * stream only under `x-stream`.
 */
export function toOpenApi(operations: Operations, info: OpenApiInfo, place: OpenApiPlace): Record<string, unknown> {
  const schemas = createOpenApiSchemas(toSchemaNames());
  const { isOptional = false } = place.bearer;
  const paths: Record<string, Json> = {};
  for (const [id, operation] of Object.entries(operations)) {
    const path = operation.path.replace('...}', '}');
    const item = paths[path] ?? {};
    paths[path] = item;
    const method = operation.method.toLowerCase();
    if (operation.method === '*') {
      for (const each of ALL_METHODS) item[each] = toOperation(`${id}_${each}`, operation, schemas, isOptional);
    } else if (operation.form === 'stream') {
      item['x-stream'] = toOperation(id, operation, schemas, isOptional);
    } else if (operation.upgrade === undefined) {
      item[method] = toOperation(id, operation, schemas, isOptional);
    } else if (!hasPlainOperation(operations, operation)) {
      item[method] = toOperation(id, operation, schemas, isOptional);
    } else {
      item['x-websocket'] = toOperation(id, operation, schemas, isOptional);
    }
  }
  const tags = [...new Set(Object.values(operations).map((operation) => operation.tag))];
  return {
    openapi: '3.1.0',
    info: { description: DESCRIPTION, ...info },
    tags: tags.map((name) => ({ name })),
    servers: place.servers,
    security: [...(isOptional ? [{}] : []), { bearer: [] }],
    paths,
    components: {
      schemas: schemas.components(),
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer', description: place.bearer.description } },
    },
  };
}

function hasPlainOperation(operations: Operations, operation: Operation): boolean {
  const same = (other: Operation) => other.path === operation.path && other.method === operation.method;
  return Object.values(operations).some((other) => other.upgrade === undefined && same(other));
}

function toOperation(operationId: string, operation: Operation, schemas: OpenApiSchemas, isOptional: boolean): Json {
  const parameters = [...pathParameters(operation, schemas), ...queryParameters(operation, schemas)];
  return {
    operationId,
    summary: operation.summary,
    description: `Source: ${operation.source}.`,
    tags: [operation.tag],
    ...(operation.servedAt === undefined ? {} : { 'x-served-at': operation.servedAt }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(operation.body === undefined ? {} : { requestBody: toRequestBody(operation, operation.body, schemas) }),
    responses: { ...toSuccess(operation, schemas), ...toErrors(operation, schemas) },
    ...(operation.access === 'none' && !isOptional ? { security: [] } : {}),
  };
}

function pathParameters(operation: Operation, schemas: OpenApiSchemas): Json[] {
  return [...operation.path.matchAll(/\{(\w+)(\.\.\.)?\}/g)].map(([, name = '', rest]) => {
    const schema = operation.params?.shape[name];
    return {
      name,
      in: 'path',
      required: true,
      ...(rest === undefined ? {} : { description: 'the rest of the path, slashes included, byte for byte' }),
      schema: schema === undefined ? { type: 'string' } : schemas.toSchema(schema, 'output'),
    };
  });
}

function queryParameters(operation: Operation, schemas: OpenApiSchemas): Json[] {
  if (operation.query === undefined) return [];
  const { query } = operation;
  return Object.entries(query.shape).map(([name, schema]) => ({
    name,
    in: 'query',
    required: !z.safeParse(schema, undefined).success,
    schema: schemas.toSchema(schema, 'output'),
  }));
}

function toRequestBody(operation: Operation, body: z.ZodType, schemas: OpenApiSchemas): Json {
  const type = operation.bodyType === 'form' ? 'application/x-www-form-urlencoded' : 'application/json';
  return {
    required: !z.safeParse(body, undefined).success,
    content: { [type]: { schema: schemas.toSchema(body, 'input') } },
  };
}

function toSuccess(operation: Operation, schemas: OpenApiSchemas): Json {
  const { answer } = operation;
  switch (answer.kind) {
    case 'json': {
      const content = { 'application/json': { schema: schemas.toSchema(answer.schema, 'output') } };
      const statuses = [answer.status, ...(answer.also ?? [])];
      const valued = Object.fromEntries(
        statuses.map((status) => [status, { description: operation.summary, content }]),
      );
      return answer.noContent === undefined ? valued : { ...valued, 204: { description: answer.noContent } };
    }
    case 'empty':
      return { [answer.status]: { description: operation.summary } };
    case 'text':
      return {
        [answer.status]: { description: operation.summary, content: { [answer.type]: { schema: { type: 'string' } } } },
      };
    case 'stream': {
      const schema = schemas.toSchema(answer.schema, 'output');
      const content = { [answer.type ?? STREAM_TYPE]: { schema }, 'text/event-stream': { schema } };
      const lines = { [answer.status]: { description: `${operation.summary}; one such value a line`, content } };
      if (answer.upgrades === undefined) return lines;
      return { 101: { description: 'to a WebSocket handshake: one such value a text frame' }, ...lines };
    }
    case 'raw':
      if (operation.upgrade !== undefined) return { 101: { description: operation.summary } };
      return { '2XX': { description: 'what the other side answers', content: { '*/*': {} } } };
    default:
      return answer satisfies never;
  }
}

function toErrors(operation: Operation, schemas: OpenApiSchemas): Json {
  const answered = operation.answer.kind === 'json' ? (operation.answer.also ?? []) : [];
  const byStatus = new Map<number, string[]>();
  for (const code of operation.errors) {
    const status = errorStatus[code];
    if (!answered.includes(status)) byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  const content = { 'application/json': { schema: schemas.toSchema(errorBody, 'output') } };
  const responses: Json = {};
  for (const [status, codes] of byStatus) responses[status] = { description: codes.join(', '), content };
  return { ...responses, default: { description: 'any other error', content } };
}
