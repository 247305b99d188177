// A promise with a deadline.

/** Rejects when `promise` takes longer; its later rejection is not reported as unhandled. */
export async function withDeadline<T>(limit_ms: number, promise: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`took longer than ${limit_ms} ms`)), limit_ms);
  timer.unref();
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
