// A JSON answer with a long list is what JSON.stringify makes of it, and is written in several turns.
import { describe, expect, it, test } from 'vitest';
import { z } from 'zod';
import { defineOperation } from '../../src/contract/operation.ts';
import { Reply } from '../../src/http/handler.ts';
import { holdsLongList, toJsonPieces } from '../../src/http/json-pieces.ts';
import { ask } from '../support/ask.ts';
import { serveEdge } from '../support/serve-edge.ts';

const rows = Array.from({ length: 10_000 }, (_, index) => ({ id: index, name: `größe "${index}"`, at: null }));
const twenty = Array.from({ length: 20 }, (_, index) => index);

describe('the pieces of a value', () => {
  it.each<[string, unknown, boolean]>([
    ['a long list', rows, true],
    ['a record of it', { before: 1, rows, after: { x: [1, 2] } }, true],
    ['a list in an item of a short list', { providers: [{ connectors: twenty }, { connectors: [] }] }, true],
    ['a list in items of a long list', { rows: twenty.map((index) => ({ index, twenty })) }, true],
    ['fields that are left out', { twenty, a: undefined, b: () => 1, c: Symbol('c'), d: null }, true],
    ['items that are null', [...twenty, undefined, () => 1, Symbol('d'), null, Number.NaN], true],
    ['an object with a form of its own', { twenty, at: new Date(0), own: { toJSON: () => [1] } }, true],
    ['a name that needs escapes', { 'a"\n': twenty, __proto__: null }, true],
    ['a list that is too deep', { a: { b: { c: { d: twenty } } } }, false],
    ['a short list', { a: [1, 2, 3] }, false],
    ['text', 'x', false],
    ['null', null, false],
    ['nothing', {}, false],
  ])('%s', (_, value, isLong) => {
    const pieces = [...toJsonPieces(value)];
    expect(pieces.join('')).toBe(JSON.stringify(value));
    expect(holdsLongList(value)).toBe(isLong);
    expect(pieces.length > 1).toBe(isLong);
  });

  it('fails as JSON.stringify does', () => {
    const circular: Record<string, unknown> = {};
    circular.self = circular;
    expect(() => [...toJsonPieces(circular)]).toThrow(TypeError);
    expect(() => [...toJsonPieces([...twenty, 1n])]).toThrow(TypeError);
  });
});

const operation = defineOperation({
  method: 'GET',
  path: '/v1/rows',
  summary: '',
  source: '',
  tag: 'test',
  errors: [],
  answer: { kind: 'json', status: 200, schema: z.unknown() },
});

test('it arrives whole, with its length, its status and its headers, while others had turns', async () => {
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  const entered: string[] = [];
  const { path } = await serveEdge(
    { rows: operation },
    {
      rows: () => {
        setImmediate(count);
        return new Reply(201, { rows }, { 'x-own': 'yes' });
      },
    },
    { loop: { enter: (id) => void entered.push(id) } },
  );
  const answer = await ask(path, { target: '/v1/rows' });
  isOver = true;
  expect(answer.status).toBe(201);
  expect(answer.json).toEqual({ rows });
  expect(answer.text).toBe(`${JSON.stringify({ rows })}\n`);
  expect(answer.headers['x-own']).toBe('yes');
  expect(Number(answer.headers['content-length'])).toBe(Buffer.byteLength(answer.text));
  // The loop learns of each turn in which the answer goes on.
  expect(entered.length).toBeGreaterThanOrEqual(8);
  expect(turns).toBeGreaterThanOrEqual(entered.length - 2);
});

test('a value that cannot be written is an error, however late in the list', async () => {
  const { path } = await serveEdge({ rows: operation }, { rows: () => ({ rows: [...rows, 1n] }) });
  const answer = await ask(path, { target: '/v1/rows' });
  expect(answer.status).toBe(500);
  expect(answer.json).toMatchObject({ error: 'internal' });
});
