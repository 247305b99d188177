// The contract as an OpenAPI 3.1 document, made from the rows. Nothing is computed before it is asked for.
import { z } from 'zod';
import { errorBody, errorStatus } from '../contract/errors.ts';
import type { Operation, Operations } from '../contract/operation.ts';

export interface OpenApiInfo {
  readonly title: string;
  readonly version: string;
  readonly description?: string;
}

type Json = Record<string, unknown>;

const ALL_METHODS = ['get', 'post', 'put', 'patch', 'delete', 'options', 'head'] as const;
const ERROR_REF = { $ref: '#/components/schemas/Error' };
const STREAM_TYPE = 'application/x-ndjson';

/** A row that is served only on an upgrade appears beside the plain one of the same path, under `x-websocket`. */
export function toOpenApi(operations: Operations, info: OpenApiInfo): Record<string, unknown> {
  const paths: Record<string, Json> = {};
  for (const [id, row] of Object.entries(operations)) {
    const path = row.path.replace('...}', '}');
    const item = paths[path] ?? {};
    paths[path] = item;
    const method = row.method.toLowerCase();
    if (row.method === '*') {
      for (const each of ALL_METHODS) item[each] = toOperation(`${id}_${each}`, row);
    } else if (row.upgrade === undefined) {
      item[method] = toOperation(id, row);
    } else if (!hasPlainRow(operations, row)) {
      item[method] = toOperation(id, row);
    } else {
      item['x-websocket'] = toOperation(id, row);
    }
  }
  const tags = [...new Set(Object.values(operations).map((row) => row.tag))];
  return {
    openapi: '3.1.0',
    info: { ...info },
    tags: tags.map((name) => ({ name })),
    paths,
    components: {
      schemas: { Error: toSchema(errorBody, 'output') },
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
    },
  };
}

function hasPlainRow(operations: Operations, row: Operation): boolean {
  const same = (other: Operation) => other.path === row.path && other.method === row.method;
  return Object.values(operations).some((other) => other.upgrade === undefined && same(other));
}

function toOperation(operationId: string, row: Operation): Json {
  const parameters = [...pathParameters(row), ...queryParameters(row)];
  return {
    operationId,
    summary: row.summary,
    description: `From ${row.source}.`,
    tags: [row.tag],
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(row.body === undefined ? {} : { requestBody: toRequestBody(row, row.body) }),
    responses: { ...toSuccess(row), ...toErrors(row) },
    ...(row.access === undefined || row.access === 'none' ? {} : { security: [{ bearer: [] }] }),
  };
}

function pathParameters(row: Operation): Json[] {
  return [...row.path.matchAll(/\{(\w+)(\.\.\.)?\}/g)].map(([, name = '', rest]) => {
    const schema = row.params?.shape[name];
    return {
      name,
      in: 'path',
      required: true,
      ...(rest === undefined ? {} : { description: 'the rest of the path, slashes included, byte for byte' }),
      schema: schema === undefined ? { type: 'string' } : toSchema(schema, 'output'),
    };
  });
}

function queryParameters(row: Operation): Json[] {
  if (row.query === undefined) return [];
  const { query } = row;
  return Object.entries(query.shape).map(([name, schema]) => ({
    name,
    in: 'query',
    required: !z.safeParse(schema, undefined).success,
    schema: toSchema(schema, 'output'),
  }));
}

function toRequestBody(row: Operation, body: z.ZodType): Json {
  const type = row.bodyType === 'form' ? 'application/x-www-form-urlencoded' : 'application/json';
  return {
    required: !z.safeParse(body, undefined).success,
    content: { [type]: { schema: toSchema(body, 'input') } },
  };
}

function toSuccess(row: Operation): Json {
  const { answer } = row;
  switch (answer.kind) {
    case 'json': {
      const content = { 'application/json': { schema: toSchema(answer.schema, 'output') } };
      const statuses = [answer.status, ...(answer.also ?? [])];
      return Object.fromEntries(statuses.map((status) => [status, { description: row.summary, content }]));
    }
    case 'empty':
      return { [answer.status]: { description: row.summary } };
    case 'text':
      return {
        [answer.status]: { description: row.summary, content: { [answer.type]: { schema: { type: 'string' } } } },
      };
    case 'stream': {
      const schema = toSchema(answer.schema, 'output');
      const content = { [answer.type ?? STREAM_TYPE]: { schema }, 'text/event-stream': { schema } };
      const lines = { [answer.status]: { description: `${row.summary}; one such value a line`, content } };
      if (answer.upgrades === undefined) return lines;
      return { 101: { description: 'to a WebSocket handshake: one such value a text frame' }, ...lines };
    }
    case 'raw':
      if (row.upgrade !== undefined) return { 101: { description: row.summary } };
      return { '2XX': { description: 'what the other side answers', content: { '*/*': {} } } };
    default:
      return answer satisfies never;
  }
}

function toErrors(row: Operation): Json {
  const answered = row.answer.kind === 'json' ? (row.answer.also ?? []) : [];
  const byStatus = new Map<number, string[]>();
  for (const code of row.errors) {
    const status = errorStatus[code];
    if (!answered.includes(status)) byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  const content = { 'application/json': { schema: ERROR_REF } };
  const responses: Json = {};
  for (const [status, codes] of byStatus) responses[status] = { description: codes.join(', '), content };
  return { ...responses, default: { description: 'any other error', content } };
}

/** Unknown fields are ignored wherever a schema does not say otherwise, so the document does not forbid them. */
function toSchema(schema: z.core.$ZodType, io: 'input' | 'output'): Json {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema }) {
      const { def } = zodSchema._zod;
      if (def.type === 'object' && !('catchall' in def && def.catchall)) delete jsonSchema.additionalProperties;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    },
  });
  return rest;
}
