// A promise with a deadline.

/**
 * Rejects when `promise` takes longer, with `toError()` if given; its later rejection is not reported as unhandled. The timer keeps
 * the process running until one of the two has settled.
 */
export async function withDeadline<T>(
  limit_ms: number,
  promise: PromiseLike<T>,
  toError = () => new Error(`took longer than ${limit_ms} ms`),
): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(toError()), limit_ms);
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
