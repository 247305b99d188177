// Reads and drops the rest of a request body that nothing needs.
import type { IncomingMessage } from 'node:http';

/** How long it may keep coming after the answer, before the connection is cut. */
const LINGER_MS = 5_000;

/** An upstream may answer before it has the whole body. The unread rest would block the caller's connection. */
export function dropRest(request: IncomingMessage): void {
  if (request.complete) return;
  const cut = setTimeout(() => request.destroy(), LINGER_MS);
  request.once('close', () => clearTimeout(cut)).once('end', () => clearTimeout(cut));
  request.resume();
}
