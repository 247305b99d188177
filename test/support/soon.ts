// Waiting for an assertion to hold.
import { vi } from 'vitest';

/** Resolves when `check` throws no more. Throws what it threw last after `limit_ms`: longer than a machine with other work needs. */
export function soon<T>(check: () => T | Promise<T>, limit_ms = 60_000): Promise<T> {
  return vi.waitFor(check, { timeout: limit_ms, interval: 20 });
}
