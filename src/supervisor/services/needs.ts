// What services need of each other. Pure: names, and the names that each needs.
import { RemoraError } from '../../core/remora-error.ts';

export type Needs = ReadonlyMap<string, readonly string[]>;

/** Throws `invalid_request` that names what is missing, or the cycle. */
export function checkNeeds(needs: Needs): void {
  for (const [name, needed] of needs) {
    const missing = needed.find((each) => !needs.has(each));
    if (missing !== undefined) {
      throw new RemoraError('invalid_request', `${name} needs ${missing}, which is not defined; define it first`);
    }
  }
  const cycle = findCycle(needs);
  if (cycle !== undefined) {
    throw new RemoraError('invalid_request', `services need each other in a cycle: ${cycle.join(' → ')}`);
  }
}

/** A way from a service back to itself, that service first and last; undefined when there is none. */
export function findCycle(needs: Needs): readonly string[] | undefined {
  const done = new Set<string>();
  function visit(name: string, way: readonly string[]): readonly string[] | undefined {
    const begin = way.indexOf(name);
    if (begin >= 0) return [...way.slice(begin), name];
    if (done.has(name)) return undefined;
    for (const needed of needs.get(name) ?? []) {
      const cycle = visit(needed, [...way, name]);
      if (cycle !== undefined) return cycle;
    }
    done.add(name);
    return undefined;
  }
  for (const name of needs.keys()) {
    const cycle = visit(name, []);
    if (cycle !== undefined) return cycle;
  }
  return undefined;
}

/** A service and all that it needs, what is needed first. There is no cycle. */
export function inOrder(needs: Needs, name: string): readonly string[] {
  const order = new Set<string>();
  function visit(each: string): void {
    if (order.has(each)) return;
    for (const needed of needs.get(each) ?? []) visit(needed);
    order.add(each);
  }
  visit(name);
  return [...order];
}

/** Those that need a service themselves. */
export function whoNeeds(needs: Needs, name: string): readonly string[] {
  return [...needs].filter(([, needed]) => needed.includes(name)).map(([each]) => each);
}
