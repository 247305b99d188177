// Numbers and booleans of a query string: a server reads them from text, a typed client passes them as values.
import * as z from './lazy-zod.ts';

// Made once for all operations: a schema takes a while to make.
const givenInteger = z.union(
  [
    z.int(),
    z
      .string()
      .regex(/^-?\d{1,15}$/)
      .transform(Number),
  ],
  { error: 'expected an integer' },
);
const givenBoolean = z
  .union([z.boolean(), z.enum(['true', 'false', '1', '0']).transform((text) => text === 'true' || text === '1')], {
    error: 'expected true or false',
  })
  .pipe(z.boolean());
const givenFlag = z
  .union([givenBoolean, z.literal('').transform(() => true)], { error: 'expected true or false' })
  .pipe(z.boolean());

/** An integer from `min` to `max`; anything else is refused. */
export function queryInteger(min: number, max: number) {
  return givenInteger.pipe(z.int().min(min).max(max));
}

/** An integer that is moved into `min` to `max`: the rule for every duration from outside. */
export function queryClamped(min: number, max: number) {
  return givenInteger.transform((value) => Math.min(max, Math.max(min, value))).pipe(z.int().min(min).max(max));
}

/** `true` or `false`, also `1` or `0`. */
export function queryBoolean() {
  return givenBoolean;
}

/** Reads what `queryBoolean` reads, and a name without a value as true. */
export function queryFlag() {
  return givenFlag;
}
