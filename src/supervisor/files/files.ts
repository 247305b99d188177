// The file operations of this sprite: as its user, in a process that has given up root where this one is root; as root only for a caller
// that may.
import { join } from 'node:path';
import type { Operation } from '../../contract/operation.ts';
import type { Call, Handlers } from '../../http/handler.ts';
import type { SupervisorModule } from '../lazy-module.ts';
import type { SupervisorOptions } from '../supervisor.ts';
import type { SupervisorCaller } from '../supervisor-caller.ts';
import { FileError } from './file-error.ts';
import { createFileHandlers } from './file-handlers.ts';
import type { RawFileOperations } from './raw-file-operations.ts';
import { ownRights, rootRights } from './tree/rights.ts';
import { forwardExchange } from './user-process/forward-exchange.ts';
import { UserProcess } from './user-process/user-process.ts';

/** The module, and the process of the user for those who watch it. */
export interface FileModule extends SupervisorModule<RawFileOperations> {
  /** Undefined while there is none. */
  readonly userProcess: number | undefined;
}

export interface FileModuleOptions extends Pick<SupervisorOptions, 'stateDir' | 'user' | 'log'> {
  /** How long the process of the user stays without a use; default a minute. */
  readonly userProcessIdle_ms?: number;
}

const IDLE_MS = 60_000;

/** Inert until a call comes. The edge needs `mapFileError`. */
export function openFiles({ stateDir, user, log, userProcessIdle_ms = IDLE_MS }: FileModuleOptions): FileModule {
  const isUser = process.geteuid?.() === user.uid;
  const userProcess = isUser
    ? undefined
    : new UserProcess({ socket: join(stateDir, 'files.sock'), user, idle_ms: userProcessIdle_ms, log });
  const handlers = createRightsHandlers(userProcess);
  return {
    handlers,
    get isBusy() {
      return userProcess?.isBusy === true;
    },
    get userProcess() {
      return userProcess?.pid;
    },
    [Symbol.asyncDispose]: async () => await userProcess?.[Symbol.asyncDispose](),
  };
}

type AnyHandler = (call: Call<Operation, SupervisorCaller>, response: unknown) => Promise<void>;

/** Decides for each call whose rights it gets. */
function createRightsHandlers(userProcess: UserProcess | undefined): Handlers<RawFileOperations, SupervisorCaller> {
  const asUser = createFileHandlers(ownRights) as unknown as Readonly<Record<string, AnyHandler>>;
  const asRoot = createFileHandlers(rootRights) as unknown as Readonly<Record<string, AnyHandler>>;
  const handlers = Object.keys(asUser).map((id): [string, AnyHandler] => [
    id,
    async (call, response) => {
      const { isAsRoot, path } = readCall(call);
      if (isAsRoot) checkRoot(call.principal, path);
      if (id === 'changeFileOwner' && !call.principal.mayActAsRoot)
        throw forbidden(path, 'the owner is not changed here');
      if (isAsRoot) await asRoot[id]?.(call, response);
      else if (userProcess === undefined) await asUser[id]?.(call, response);
      else await userProcess.use((socket) => forwardExchange(call, response as never, socket));
    },
  ]);
  return Object.fromEntries(handlers) as unknown as Handlers<RawFileOperations, SupervisorCaller>;
}

/** What every file operation says in its query or its body; a watch says it later. */
function readCall({ query, body }: Call<Operation, unknown>): { readonly isAsRoot: boolean; readonly path: string } {
  const fields = { ...query, ...(body as object | undefined) };
  const path: unknown = Reflect.get(fields, 'path') ?? Reflect.get(fields, 'source');
  return { isAsRoot: Reflect.get(fields, 'asRoot') === true, path: typeof path === 'string' ? path : '' };
}

function checkRoot({ mayActAsRoot }: SupervisorCaller, path: string): void {
  if (!mayActAsRoot) throw forbidden(path, 'asRoot is not allowed here');
  if (process.geteuid?.() !== 0) throw forbidden(path, 'asRoot needs a supervisor that runs as root');
}

function forbidden(path: string, what: string): FileError {
  return new FileError('EPERM', path, what);
}
