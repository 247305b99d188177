// How long a browser waits for a machine that starts, before it gets a page. Everybody else just waits.
import type { IncomingMessage } from 'node:http';
import { isNavigation } from './wants-page.ts';

const PATIENCE_MS = 2_000;

/** `impatient`: the page is due; what was waited for goes on. */
export async function withPatience<T extends object>(
  request: IncomingMessage,
  waited: Promise<T>,
): Promise<T | 'impatient'> {
  if (request.method !== 'GET' || !isNavigation(request)) return await waited;
  const { promise, resolve } = Promise.withResolvers<'impatient'>();
  const patience = setTimeout(() => resolve('impatient'), PATIENCE_MS);
  waited.catch(() => undefined);
  try {
    return await Promise.race([waited, promise]);
  } finally {
    clearTimeout(patience);
  }
}
