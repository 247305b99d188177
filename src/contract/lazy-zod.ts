// The functions of zod that the contract uses. A schema is made when it is first asked for something: the contract has two thousand of them, and a
// process uses few. Definitions read as those of zod, and mean the same.
import * as zod from 'zod';

export type { core, infer, input, output, ZodObject, ZodType } from 'zod';

type Shape = Readonly<Record<string, unknown>>;

/** What makes a schema out of another one. Asked for one of these, a schema need not be made. */
const DERIVING: ReadonlySet<PropertyKey> = new Set([
  ...[
    'optional',
    'nullable',
    'nullish',
    'default',
    'array',
    'or',
    'pipe',
    'transform',
    'check',
    'refine',
    'superRefine',
  ],
  ...['min', 'max', 'length', 'regex', 'startsWith', 'endsWith', 'includes', 'toUpperCase', 'toLowerCase', 'trim'],
  ...['int', 'positive', 'nonnegative', 'extend', 'omit', 'pick', 'partial', 'exclude', 'extract', 'readonly'],
]);

const makers = new WeakMap<object, () => zod.ZodType>();

/**
 * The schema itself, which is made now if it was not yet; schemas of zod's own functions and other values are returned as they are. Needed where
 * zod tells schemas apart by their identity, as in its registries and `toJSONSchema`.
 */
export function toSchema<T>(value: T): T {
  const make = typeof value === 'object' && value !== null ? makers.get(value) : undefined;
  return make === undefined ? value : (make() as T);
}

/** Made schemas hold made schemas only, so that none of what they check goes through a stand-in. */
function withSchemas(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (makers.has(value)) return toSchema(value);
  if (Array.isArray(value)) return value.map(withSchemas);
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withSchemas(each)]));
}

/** Stands in for the schema that `make` makes. `shape`: that of an object, as it was given. */
function toStandIn(make: () => zod.ZodType, shape?: Shape): object {
  let made: zod.ZodType | undefined;
  let maker: (() => zod.ZodType) | undefined = make;
  const schema = (): zod.ZodType => {
    made ??= maker?.() as zod.ZodType;
    maker = undefined;
    return made;
  };
  const standIn: object = new Proxy(
    {},
    {
      get(_, key) {
        if (made === undefined && key === 'shape' && shape !== undefined) return shape;
        if (made === undefined && DERIVING.has(key)) {
          return (...args: readonly unknown[]) =>
            toStandIn(() => Reflect.get(schema(), key).apply(schema(), args.map(withSchemas)));
        }
        return Reflect.get(schema(), key);
      },
      has: (_, key) => Reflect.has(schema(), key),
      getPrototypeOf: () => Reflect.getPrototypeOf(schema()),
    },
  );
  makers.set(standIn, schema);
  return standIn;
}

function later<F extends (...args: never[]) => unknown>(make: F): F {
  const making = make as unknown as (...args: readonly unknown[]) => zod.ZodType;
  return ((...args: readonly unknown[]) => toStandIn(() => making(...args.map(withSchemas)))) as unknown as F;
}

/** Does the same as `later`, for what has a shape. */
function laterObject<F extends (shape: never) => unknown>(make: F): F {
  const making = make as unknown as (shape: unknown, ...more: readonly unknown[]) => zod.ZodType;
  return ((shape: Shape, ...more: readonly unknown[]) =>
    toStandIn(() => making(withSchemas(shape), ...more), shape)) as unknown as F;
}

export const string = later(zod.string);
export const number = later(zod.number);
export const int = later(zod.int);
export const boolean = later(zod.boolean);
export const stringbool = later(zod.stringbool);
export const literal = later(zod.literal);
export const unknown = later(zod.unknown);
export const email = later(zod.email);
export const url = later(zod.url);
export const ipv4 = later(zod.ipv4);
export const ipv6 = later(zod.ipv6);
export const array = later(zod.array);
export const record = later(zod.record);
export const union = later(zod.union);
export const discriminatedUnion = later(zod.discriminatedUnion);
export const object = laterObject(zod.object);
export const strictObject = laterObject(zod.strictObject);
export const looseObject = laterObject(zod.looseObject);
export const iso = { date: later(zod.iso.date), datetime: later(zod.iso.datetime) };
export const coerce = { number: later(zod.coerce.number) };
const choice = later(zod.enum);

export { NEVER } from 'zod';
export { choice as enum };
