// Every operation of the contract cites something that a reader can find, and the published interface says what the names mean.
import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { Operation } from '../../src/contract/operation.ts';
import { citedSources, sources } from '../../src/contract/sources.ts';
import { toOpenApi } from '../../src/http/openapi.ts';

const contract = new URL('../../src/contract/', import.meta.url);

async function readOperations(): Promise<[string, Operation][]> {
  const files = readdirSync(contract, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.ts'));
  const modules = await Promise.all(files.map((path) => import(new URL(path, contract).href)));
  return modules.flatMap((module: Record<string, unknown>) =>
    Object.entries(module)
      .filter(([name]) => name.endsWith('Operations'))
      .flatMap(([, operations]) => Object.entries(operations as Record<string, Operation>)),
  );
}

test('every operation cites sources that src/contract/sources.ts names, and a paragraph of a specification', async () => {
  const operations = await readOperations();
  expect(operations.length).toBeGreaterThan(100);
  for (const [id, { source }] of operations) {
    for (const name of citedSources(source)) expect(Object.keys(sources), id).toContain(name);
    for (const part of source.split('; ')) {
      const known = sources[citedSources(part)[0] as keyof typeof sources];
      expect(part.includes(', '), `${id}: ${part}`).toBe(known.kind === 'specification');
    }
  }
});

test('the published interface says what the names stand for, and cites no file that a reader has not', async () => {
  const document = toOpenApi(
    Object.fromEntries(await readOperations()),
    { title: 'Remora', version: '1' },
    {
      servers: [],
      bearer: { description: 'a token' },
    },
  );
  const text = JSON.stringify(document);
  for (const { title } of Object.values(sources)) expect(text).toContain(title);
  expect(text).not.toMatch(/\bdocument [123]\b|\bissue \d|\bsection \d|[\w-]+\.md\b/i);
});
