// The OpenAPI document made from the rows: complete, without dangling references, and true to what the rows say.
import { expect, test } from 'vitest';
import { z } from 'zod';
import { agentOperations } from '../../src/contract/agent-operations.ts';
import { checkpointOperations } from '../../src/contract/checkpoints.ts';
import { extensionHookOperations } from '../../src/contract/extension-webhooks.ts';
import { providerOperations } from '../../src/contract/extensions.ts';
import { fileOperations } from '../../src/contract/files.ts';
import { oauthOperations } from '../../src/contract/oauth.ts';
import type { Operations } from '../../src/contract/operation.ts';
import { platformOperations } from '../../src/contract/platform-operations.ts';
import { processOperations } from '../../src/contract/processes.ts';
import { nodeOperations } from '../../src/contract/replication.ts';
import { serviceOperations } from '../../src/contract/services.ts';
import { signOnOperations } from '../../src/contract/sign-on.ts';
import { spriteOperations } from '../../src/contract/sprites.ts';
import { toOpenApi } from '../../src/http/openapi.ts';
import { resolveReferences } from '../support/resolve-references.ts';

const everything: Operations = {
  ...platformOperations,
  ...spriteOperations,
  ...oauthOperations,
  ...nodeOperations,
  ...serviceOperations,
  ...checkpointOperations,
  ...fileOperations,
  ...processOperations,
  ...providerOperations,
  ...extensionHookOperations,
  ...signOnOperations,
};

const content = z.record(z.string(), z.looseObject({ schema: z.record(z.string(), z.unknown()).optional() }));
const operation = z.object({
  operationId: z.string(),
  tags: z.array(z.string()),
  parameters: z
    .array(z.object({ name: z.string(), in: z.string(), required: z.boolean(), schema: z.looseObject({}) }))
    .default([]),
  requestBody: z.object({ required: z.boolean(), content }).optional(),
  responses: z.record(z.string(), z.object({ description: z.string().min(1), content: content.optional() })),
  security: z.array(z.record(z.string(), z.array(z.string()))).optional(),
});
const document = z.object({
  openapi: z.literal('3.1.0'),
  info: z.object({ title: z.string(), version: z.string(), description: z.string() }),
  tags: z.array(z.object({ name: z.string() })),
  paths: z.record(z.string().startsWith('/'), z.record(z.string(), operation)),
  servers: z.array(z.object({ url: z.url() })).min(1),
  security: z.array(z.record(z.string(), z.array(z.string()))),
  components: z.looseObject({ schemas: z.record(z.string(), z.unknown()), securitySchemes: z.looseObject({}) }),
});

function read(operations: Operations) {
  const place = { servers: [{ url: 'https://p.test' }], bearer: { description: 'a token' } };
  const text = JSON.stringify(toOpenApi(operations, { title: 'Remora', version: '1' }, place));
  return { text, api: document.parse(JSON.parse(text)) };
}

const { text, api } = read(everything);
const all = Object.entries(api.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, row]) => ({ path, method, row })),
);

/** Replaces every reference by what it leads to. */
const whole = (value: unknown) => resolveReferences(value, api.components.schemas);

test('each operation that is served says at which listeners', () => {
  const own = z.object({
    paths: z.record(z.string(), z.record(z.string(), z.looseObject({ operationId: z.string() }))),
  });
  for (const operations of [agentOperations, platformOperations]) {
    const { paths } = own.parse(JSON.parse(read(operations).text));
    const rows = Object.values(paths).flatMap((item) => Object.values(item));
    expect(rows.length).toBeGreaterThan(35);
    for (const row of rows) {
      const [, id = ''] = /^(gateway)_[a-z]+$/.exec(row.operationId) ?? [undefined, row.operationId];
      expect(row['x-served-at'], id).toEqual((operations as Operations)[id]?.servedAt);
      expect(row['x-served-at'], id).not.toHaveLength(0);
    }
  }
  expect(api.info.description).toContain('`x-served-at`');
});

test('every row appears, and every operation id once', () => {
  const ids = all.map(({ row }) => row.operationId);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.filter((id) => !id.startsWith('gateway_')).sort()).toEqual(
    Object.keys(everything)
      .filter((id) => id !== 'gateway')
      .sort(),
  );
});

test('every parameter of a path is declared, required, and declared once', () => {
  for (const { path, row } of all) {
    const declared = row.parameters.filter((parameter) => parameter.in === 'path');
    expect(declared.map((parameter) => parameter.name)).toEqual(
      [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]),
    );
    expect(declared.every((parameter) => parameter.required)).toBe(true);
    expect(path).not.toContain('...');
  }
});

test('every reference leads somewhere', () => {
  const references = [...text.matchAll(/"\$ref":"([^"]+)"/g)].map((match) => match[1] ?? '');
  expect(references.length).toBeGreaterThan(0);
  for (const reference of references) {
    const name = reference.replace('#/components/schemas/', '');
    expect(Object.keys(api.components.schemas)).toContain(name);
  }
});

test('what the documents name stands once, under its name, and is used', () => {
  const named = Object.keys(api.components.schemas);
  const expected = [
    'Sprite',
    'UrlSettings',
    'SpriteListResponse',
    'Connection',
    'ConnectionListResponse',
    'AccessPolicy',
    'OAuthAuthorizeResponse',
    'CreateSpriteRequest',
    'Error',
  ];
  expect(named).toEqual(expect.arrayContaining(expected));
  for (const name of named) expect(text, name).toContain(`"$ref":"#/components/schemas/${name}"`);
  expect(api.components.schemas.SpriteListResponse).toMatchObject({
    properties: { sprites: { type: 'array', items: { $ref: '#/components/schemas/Sprite' } } },
  });
  expect(text).not.toMatch(/\$defs|\$id|\$schema/);
});

test('a field that is called id is there', () => {
  expect(api.components.schemas.Sprite).toMatchObject({ properties: { id: { type: 'string' } } });
  for (const schema of Object.values(api.components.schemas)) expect(schema).not.toHaveProperty('id');
});

test('every tag that is used is declared', () => {
  expect([...new Set(all.flatMap(({ row }) => row.tags))].sort()).toEqual(api.tags.map((tag) => tag.name).sort());
});

test('a row says its statuses, its bearer token and its body', () => {
  const create = api.paths['/v1/sprites']?.post;
  expect(Object.keys(create?.responses ?? {}).sort()).toEqual(['201', '400', '401', '404', '409', '429', 'default']);
  expect(api.security).toEqual([{ bearer: [] }]);
  expect(create?.security).toBeUndefined();
  expect(create?.requestBody?.required).toBe(true);
  const body = create?.requestBody?.content['application/json']?.schema;
  expect(body).toEqual({ $ref: '#/components/schemas/CreateSpriteRequest' });
  expect(whole(body)).toMatchObject({ required: ['name'] });
  expect(api.paths['/v1/health']?.get?.security).toEqual([]);
  expect(api.paths['/v1/apps/{app_name}/machines/{machine_id}/stop']?.post?.requestBody?.required).toBe(false);
  expect(Object.keys(api.paths['/oauth/token']?.post?.requestBody?.content ?? {})).toEqual([
    'application/x-www-form-urlencoded',
  ]);
});

test('a query says what is required, its limits and its defaults', () => {
  const list = api.paths['/v1/sprites']?.get?.parameters.find((parameter) => parameter.name === 'max_results');
  expect(list).toMatchObject({ required: false, schema: { type: 'integer', minimum: 1, maximum: 500, default: 50 } });
  const signed = api.paths['/extensions/{extension_id}']?.get?.parameters.find(
    (parameter) => parameter.name === 'nonce',
  );
  expect(signed?.required).toBe(true);
});

test('an answer shows the word that is emitted, and a stream its types', () => {
  const machine = api.paths['/v1/apps/{app_name}/machines/{machine_id}']?.get?.responses['200']?.content;
  expect(JSON.stringify(whole(machine))).toContain('"running"');
  expect(JSON.stringify(whole(machine))).not.toContain('"started"');
  const log = api.paths['/v1/sprites/{name}/services/{service}/logs']?.get?.responses['200']?.content;
  expect(Object.keys(log ?? {})).toEqual(['application/x-ndjson', 'text/event-stream']);
  expect(Object.keys(api.paths['/events']?.get?.responses['200']?.content ?? {})).toContain('application/json');
});

test('an answer without content stands beside the value, with what it means', () => {
  const { 200: value, 204: none } = api.paths['/v1/sprites/{name}/upgrade']?.post?.responses ?? {};
  expect(Object.keys(value?.content ?? {})).toEqual(['application/json']);
  expect(none).toEqual({ description: 'nothing newer is installed' });
});

test('a row for every method becomes one operation a method, and an upgrade stands beside the plain row', () => {
  const gateway = api.paths['/v1/gateway/{provider}/{connector_id}/{path}'];
  expect(Object.keys(gateway ?? {})).toEqual(['get', 'post', 'put', 'patch', 'delete', 'options', 'head']);
  const exec = api.paths['/v1/sprites/{name}/exec'];
  expect(exec?.get?.operationId).toBe('listProcesses');
  expect(exec?.['x-websocket']?.operationId).toBe('exec');
  expect(Object.keys(exec?.['x-websocket']?.responses ?? {})).toContain('101');
});

test('unknown fields are forbidden only where the contract refuses them', () => {
  const update = api.paths['/v1/oauth/connections/{id}']?.patch;
  const policy = JSON.stringify(whole(update?.requestBody?.content['application/json']?.schema));
  expect(policy.match(/"additionalProperties":false/g)).toHaveLength(1);
  expect(JSON.stringify(whole(update?.responses['200']))).not.toContain('"additionalProperties":false');
});
