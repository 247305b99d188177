// Which operation a path belongs to, where the path of one begins with the prefix of another.
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineOperation, type Operations } from '../../src/contract/operation.ts';
import { createRouter } from '../../src/http/router.ts';

function operation(path: string) {
  const answer = { kind: 'json', status: 200, schema: z.unknown() } as const;
  return defineOperation({ summary: '', source: '', tag: 'test', errors: [], method: 'GET', path, answer });
}

function find(operations: Operations, path: string): string {
  return createRouter(operations).match('GET', path).id;
}

const list = operation('/v1/calls/list');
const calls = operation('/v1/calls/{rest...}');

test.each([
  ['/v1/calls/list', 'list'],
  ['/v1/calls/list/', 'list'],
  ['/v1/calls/list//', 'calls'],
  ['/v1/calls/list/more', 'calls'],
  ['/v1/calls//list', 'calls'],
  ['/v1/calls/', 'calls'],
  ['/v1/calls/a/b%2fc', 'calls'],
])('an operation with exactly this path wins over a prefix: %s', (path, id) => {
  expect(find({ list, calls }, path)).toBe(id);
});

test.each([
  ['/v1/calls/7/state', 'state'],
  ['/v1/calls/7/other', 'calls'],
])('an operation with parameters below a prefix wins over it: %s', (path, id) => {
  expect(find({ state: operation('/v1/calls/{id}/state'), calls }, path)).toBe(id);
});

test.each([
  ['/v1/calls/old/7', 'old'],
  ['/v1/calls/old/7/8', 'calls'],
  ['/v1/calls/older/7', 'calls'],
  ['/v1/calls/old', 'calls'],
])('an operation with parameters below some of the paths of a prefix takes no other of them: %s', (path, id) => {
  expect(find({ old: operation('/v1/calls/old/{id}'), calls }, path)).toBe(id);
});

test.each([
  ['/v1/calls/open', 'open'],
  ['/v1/calls/7', 'calls'],
])('an operation whose parameter stands in the place of a prefix wins over it: %s', (path, id) => {
  expect(find({ open: operation('/v1/{kind}/open'), calls }, path)).toBe(id);
});

test.each([
  ['/v1/calls/old/x', 'old'],
  ['/v1/calls/new/x', 'calls'],
])('the longer of two prefixes wins: %s', (path, id) => {
  expect(find({ calls, old: operation('/v1/calls/old/{rest...}') }, path)).toBe(id);
});
