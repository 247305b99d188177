// Turns failures of the storage (no answer from the database, a full or broken disk) into `not_ready`, so that callers know that the
// failure passes and their request was not at fault.
import { RemoraError } from '../../core/remora-error.ts';
import { StorageFailure } from './storage.ts';

const RETRY_MS = 5_000;

/** Wraps every function of `handlers`: a `StorageFailure` becomes `not_ready`. */
export function guardStorage<H extends object>(handlers: H): H {
  const guarded = new Map<unknown, unknown>();
  return new Proxy(handlers, {
    get(target, name, receiver) {
      const handler: unknown = Reflect.get(target, name, receiver);
      if (typeof handler !== 'function') return handler;
      const known = guarded.get(handler);
      if (known !== undefined) return known;
      const wrapped = (...args: readonly unknown[]) => {
        try {
          const answer: unknown = Reflect.apply(handler, target, args);
          return answer instanceof Promise ? answer.catch(rethrowStorage) : answer;
        } catch (error) {
          return rethrowStorage(error);
        }
      };
      guarded.set(handler, wrapped);
      return wrapped;
    },
  });
}

/** Pass it to a promise's `catch`: throws `not_ready` for an error of the storage, and any other error unchanged. */
export function rethrowStorage(error: unknown): never {
  if (!(error instanceof StorageFailure)) throw error;
  throw new RemoraError('not_ready', 'the platform cannot use its database now; try again', {
    cause: error,
    retryAfter_ms: RETRY_MS,
  });
}
