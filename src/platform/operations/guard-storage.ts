// A database that cannot be asked, a disk that is full or broken: told to callers as what it is, a state that passes, and nothing that
// they did wrong.
import { RemoraError } from '../../core/remora-error.ts';
import { StorageFailure } from '../storage/storage.ts';

const RETRY_MS = 5_000;

/** The same functions; what the storage throws for want of a disk or a server becomes `not_ready`. */
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

/** For a promise's `catch`: throws `not_ready` for what the storage throws, and everything else as it is. */
export function rethrowStorage(error: unknown): never {
  if (!(error instanceof StorageFailure)) throw error;
  throw new RemoraError('not_ready', 'the platform cannot use its database now; try again', {
    cause: error,
    retryAfter_ms: RETRY_MS,
  });
}
