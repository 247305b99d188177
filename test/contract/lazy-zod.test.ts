// Schemas of the contract are made at their first use, and are then what zod makes of the same words.
import { expect, test } from 'vitest';
import * as zod from 'zod';
import * as z from '../../src/contract/lazy-zod.ts';

function countReads() {
  let reads = 0;
  const shape = {
    get name() {
      reads += 1;
      return z.string().min(2);
    },
  };
  return { shape, reads: () => reads };
}

test('a schema is made when it is first asked for something, once, and with what derives from it', () => {
  const { shape, reads } = countReads();
  const record = z.object(shape);
  const list = z.array(record.extend({ size: z.int() }).optional()).max(2);
  expect(reads()).toBe(0);
  expect(list.safeParse([{ name: 'ab', size: 1 }, undefined]).success).toBe(true);
  expect(list.safeParse([{ name: 'a', size: 1 }]).success).toBe(false);
  expect(record.safeParse({ name: 'ab' }).data).toEqual({ name: 'ab' });
  expect(reads()).toBe(1);
});

test('it is what zod makes: values, errors, shape, kind and JSON schema', () => {
  const define = (from: typeof z) =>
    from.object({
      id: from.string().regex(/^\d+$/).max(3),
      kind: from.enum(['a', 'b']).default('a'),
      at: from.iso.datetime({ offset: true }).nullable(),
      either: from.union([from.literal('x'), from.int().positive()], { error: 'expected x or a number' }).optional(),
      more: from.record(from.string(), from.array(from.boolean())),
    });
  const [lazy, plain] = [define(z), define(zod as unknown as typeof z)];
  for (const value of [{ id: '12', at: null, more: { a: [true] } }, { id: 'x', kind: 'c', at: 'now', more: 1 }, 7]) {
    expect(JSON.stringify(lazy.safeParse(value))).toBe(JSON.stringify(plain.safeParse(value)));
  }
  expect(Object.keys(lazy.shape)).toEqual(Object.keys(plain.shape));
  expect(lazy).toBeInstanceOf(zod.ZodObject);
  expect(zod.toJSONSchema(z.toSchema(lazy))).toEqual(zod.toJSONSchema(plain));
  expect(z.toSchema(lazy)).toBe(z.toSchema(lazy));
  expect(z.toSchema(plain)).toBe(plain);
});

test('the shape of an object is known before it is made, and made schemas hold no stand-in', () => {
  const { shape, reads } = countReads();
  const record = z.object(shape);
  expect(Object.keys(record.shape)).toEqual(['name']);
  expect(reads()).toBe(0);
  const { name } = z.toSchema(record).shape;
  expect(z.toSchema(name)).toBe(name);
  expect(zod.object({ record, list: zod.array(record) }).safeParse({ record: { name: 'ab' }, list: [] }).success).toBe(
    true,
  );
});
