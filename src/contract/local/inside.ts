// What the agent serves of its own sprite: the service, file and process operations of the Sprites API, with `/v1` in place of
// `/v1/sprites/{name}`.
import type { z } from 'zod';
import type { ErrorCode } from '../errors.ts';
import { fileOperations } from '../files.ts';
import type { LocalOperation, Operation } from '../operation.ts';
import { processOperations } from '../processes.ts';
import { reachErrors } from '../reach-errors.ts';
import { serviceOperations } from '../services.ts';

const PREFIX = '/v1/sprites/{name}';

type LocalParams<P> = P extends z.ZodObject<infer Shape> ? z.ZodObject<Omit<Shape, 'name'>> : never;

/** An operation of a sprite, as the agent of that sprite serves it: the path has no name, and the listener decides who may call. */
export type LocalForm<O extends Operation> = Omit<O, 'path' | 'params' | 'access' | 'readOnly' | 'servedAt'> & {
  readonly path: string;
  readonly params: LocalParams<O['params']>;
  readonly servedAt: readonly ['socket', 'channel'];
};

type LocalForms<Ops extends Readonly<Record<string, Operation>>> = { readonly [K in keyof Ops]: LocalForm<Ops[K]> };

function toLocalForms<const Ops extends Readonly<Record<string, Operation>>>(operations: Ops): LocalForms<Ops> {
  const forms = Object.entries(operations).map(([id, operation]) => [id, toLocalForm(operation)] as const);
  return Object.fromEntries(forms) as LocalForms<Ops>;
}

const ofPlatform: ReadonlySet<ErrorCode> = new Set(reachErrors);
/** Why the agent cannot pass a call on to the supervisor. */
const ofAgent = ['upstream_failed', 'not_configured', 'start_failed'] as const;

/** Throws for an operation that is not below one sprite: it has no local form. */
function toLocalForm({ access: _, readOnly: __, ...operation }: Operation): LocalOperation {
  if (!operation.path.startsWith(`${PREFIX}/`) || operation.params === undefined) {
    throw new Error(`${operation.method} ${operation.path} is not below ${PREFIX}`);
  }
  return {
    ...operation,
    path: `/v1${operation.path.slice(PREFIX.length)}`,
    params: operation.params.omit({ name: true }),
    servedAt: ['socket', 'channel'],
    errors: [...operation.errors.filter((code) => !ofPlatform.has(code)), ...ofAgent],
  };
}

export const localServiceOperations = toLocalForms(serviceOperations);
export const localFileOperations = toLocalForms(fileOperations);
export const localProcessOperations = toLocalForms(processOperations);

/** All that the supervisor serves. The agent passes it on. */
export const insideOperations = {
  ...localServiceOperations,
  ...localFileOperations,
  ...localProcessOperations,
} as const;
