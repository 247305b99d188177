// Makes the form in which the agent of a sprite serves an operation of that sprite: `/v1` stands in place of `/v1/sprites/{name}`.
import type { z } from 'zod';
import type { ErrorCode } from '../errors.ts';
import type { ListenerName } from '../listeners.ts';
import type { LocalOperation, Operation } from '../operation.ts';

const PREFIX = '/v1/sprites/{name}';

type LocalParams<P> = P extends z.ZodObject<infer Shape> ? z.ZodObject<Omit<Shape, 'name'>> : never;
type Listeners = readonly [ListenerName, ...ListenerName[]];

/** An operation of a sprite, as the agent of that sprite serves it: the path has no name, and the listener decides who may call. */
export type LocalForm<O extends Operation, At extends Listeners> = Omit<
  O,
  'path' | 'params' | 'access' | 'readOnly' | 'servedAt'
> & {
  readonly path: string;
  readonly params: LocalParams<O['params']>;
  readonly servedAt: At;
};

type Rows = Readonly<Record<string, Operation>>;
type LocalForms<Ops extends Rows, At extends Listeners> = { readonly [K in keyof Ops]: LocalForm<Ops[K], At> };

export interface LocalFormOptions<At extends Listeners> {
  readonly servedAt: At;
  /** The errors of the local form, from those of the operation. */
  readonly toErrors: (errors: readonly ErrorCode[]) => readonly ErrorCode[];
}

/** Throws for an operation that is not below one sprite: it has no local form. */
export function toLocalForms<const Ops extends Rows, const At extends Listeners>(
  operations: Ops,
  options: LocalFormOptions<At>,
): LocalForms<Ops, At> {
  const forms = Object.entries(operations).map(([id, operation]) => [id, toLocalForm(operation, options)] as const);
  return Object.fromEntries(forms) as LocalForms<Ops, At>;
}

/** Most operations share their parameters, and a schema takes a while to make. */
const nameless = new WeakMap<z.ZodObject, z.ZodObject>();

function withoutName(params: z.ZodObject): z.ZodObject {
  const known = nameless.get(params) ?? params.omit({ name: true });
  nameless.set(params, known);
  return known;
}

function toLocalForm(
  { access: _, readOnly: __, ...operation }: Operation,
  { servedAt, toErrors }: LocalFormOptions<Listeners>,
): LocalOperation {
  if (!operation.path.startsWith(`${PREFIX}/`) || operation.params === undefined) {
    throw new Error(`${operation.method} ${operation.path} is not below ${PREFIX}`);
  }
  return {
    ...operation,
    path: `/v1${operation.path.slice(PREFIX.length)}`,
    params: withoutName(operation.params),
    servedAt,
    errors: toErrors(operation.errors),
  };
}
