// The page of our own decisions: one entry a topic with its reason, every operation of our own, and what comments cite.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { fieldNames } from '../../src/cli/docs/field-names.ts';
import { sandboxRecords } from '../../src/cli/docs/sandbox-records.ts';
import { agentOperations } from '../../src/contract/agent-operations.ts';
import type { Operation } from '../../src/contract/operation.ts';
import { platformOperations } from '../../src/contract/platform-operations.ts';
import { citedSources } from '../../src/contract/sources.ts';

const src = new URL('../../src/', import.meta.url).pathname;
const page = readFileSync(join(src, 'contract/DECISIONS.md'), 'utf8');

const entries = page
  .split(/^### /m)
  .slice(1)
  .map((text) => {
    const [heading = '', ...rest] = (text.split(/^## /m)[0] ?? '').trim().split('\n\n');
    return { heading: heading.replaceAll('`', ''), paragraphs: rest };
  });

test('every topic is settled once, with a reason at its end', () => {
  expect(entries.length).toBeGreaterThan(100);
  const headings = entries.map(({ heading }) => heading);
  expect(headings.filter((heading, at) => headings.indexOf(heading) !== at)).toEqual([]);
  for (const { heading, paragraphs } of entries) {
    expect(paragraphs.length, heading).toBeGreaterThanOrEqual(2);
    for (const paragraph of paragraphs) expect(paragraph, heading).toMatch(/[.:]$|\.[")]$/);
    expect(
      paragraphs.map((paragraph) => paragraph.startsWith('Reason: ')),
      heading,
    ).toEqual(paragraphs.map((_, at) => at === paragraphs.length - 1));
  }
});

describe('what no specification asks for stands in it', () => {
  const operations = [...Object.values<Operation>(agentOperations), ...Object.values<Operation>(platformOperations)];
  const own = operations.filter(({ source }) => citedSources(source).includes('Remora'));

  it.each([...new Set(own.map(({ path }) => path))])('operation %s', (path) => {
    expect(page.includes(`${path}\``), `src/contract/DECISIONS.md does not name ${path}`).toBe(true);
  });

  const fields = Object.entries(sandboxRecords).flatMap(([record, { schema, remarks }]) =>
    fieldNames(schema)
      .filter((field) => remarks?.[field] === 'ours')
      .map((field) => [record, field] as const),
  );
  it.each(fields)('%s, field %s', (_, field) => {
    expect(page.toLowerCase()).toContain(field.toLowerCase());
  });
});

test('what a comment cites of it is there', () => {
  const headings = new Set(entries.map(({ heading }) => heading));
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.ts'));
  let cited = 0;
  for (const path of files) {
    for (const [, list = ''] of readFileSync(join(src, path), 'utf8').matchAll(
      /DECISIONS\.md, ("[^"]+"(?: and "[^"]+")*)/g,
    )) {
      for (const [, heading = ''] of list.matchAll(/"([^"]+)"/g)) {
        expect(headings.has(heading), `${path}: ${heading}`).toBe(true);
        cited += 1;
      }
    }
  }
  expect(cited).toBeGreaterThan(5);
});
