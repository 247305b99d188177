// A disk that is full or broken, told to callers as what it is: a state that passes, and nothing that they did wrong.
import { RemoraError } from '../../core/remora-error.ts';
import { isStorageFailure } from '../../sqlite/storage-failure.ts';

const RETRY_MS = 5_000;

/** The same functions; what SQLite throws for want of a disk becomes `not_ready`. */
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
          return answer instanceof Promise ? answer.catch(rethrow) : answer;
        } catch (error) {
          return rethrow(error);
        }
      };
      guarded.set(handler, wrapped);
      return wrapped;
    },
  });
}

function rethrow(error: unknown): never {
  if (!isStorageFailure(error)) throw error;
  throw new RemoraError('not_ready', 'the platform cannot write to its disk now; nothing was changed', {
    cause: error,
    retryAfter_ms: RETRY_MS,
  });
}
