// Decides at which listeners an operation is served: only where it says so itself.
import type { ListenerName, PlatformListenerName } from '../contract/listeners.ts';
import type { Operation, Operations } from '../contract/operation.ts';

/** False everywhere for an operation that says nothing: it is refused, not let in. */
export function isServedAt({ servedAt }: Operation, listener: ListenerName | PlatformListenerName): boolean {
  return servedAt?.includes(listener) ?? false;
}

/** Checks the operations when a daemon starts. Throws for an operation that names no listener, an unknown one, or one twice: there is no default. */
export function checkServedAt(operations: Operations, listeners: readonly string[]): void {
  for (const [id, { servedAt = [] }] of Object.entries(operations)) {
    if (servedAt.length === 0)
      throw new Error(`operation ${id} does not say at which listeners it is served (servedAt)`);
    const unknown = servedAt.find((name) => !listeners.includes(name));
    if (unknown !== undefined) {
      throw new Error(`operation ${id} is served at ${unknown}, which is no listener; use ${listeners.join(', ')}`);
    }
    if (new Set(servedAt).size < servedAt.length) throw new Error(`operation ${id} names a listener twice in servedAt`);
  }
}
