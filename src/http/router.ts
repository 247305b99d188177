// Finds the operation of a method and a raw path. Static segments win over parameters. Operations whose last part is
// `{name...}` are found by their literal prefix, so that their path reaches the handler exactly as it was sent; those that lie below
// the prefix and have no parameters win over them. An operation
// that is served on an upgrade only has its method and path in common with the plain one, and so has one that is a stream only.
import { addRoute, createRouter as createTree, findRoute } from 'rou3';
import type { Operation, Operations } from '../contract/operation.ts';
import { RemoraError } from '../core/remora-error.ts';
import { acceptsStreamOnly } from './accepts-event-stream.ts';

export interface Match {
  readonly id: string;
  readonly operation: Operation;
  /** The decoded values. Empty for a `{name...}` operation. */
  readonly params: Readonly<Record<string, string>>;
}

export interface Router {
  /**
   * `protocol`: what the request asks to be upgraded to, if the upgrade can be served. `accept`: the header. Throws `not_found`, `method_not_allowed`
   * (details: `allow`), `upgrade_required` (details: `upgrade`), or `invalid_target` for a broken escape.
   */
  match(method: string, path: string, protocol?: string, accept?: string): Match;
}

/** The operations of one path, by method and protocol. */
type Entry = Map<string, { readonly id: string; readonly operation: Operation }>;

interface Prefix {
  readonly prefix: string;
  readonly operations: Entry;
}

interface OwnedPrefix extends Prefix {
  readonly rivals: readonly string[];
}

const none: Readonly<Record<string, string>> = {};

/** Throws when two operations claim one method of one path, or name its parameters differently. */
export function createRouter(operations: Operations): Router {
  const tree = createTree<Entry>();
  const entries = new Map<string, { readonly path: string; readonly operations: Entry }>();
  const prefixes: Prefix[] = [];
  for (const [id, operation] of Object.entries(operations)) {
    const isPrefix = operation.path.endsWith('...}');
    const key = isPrefix
      ? operation.path.slice(0, operation.path.indexOf('{'))
      : operation.path.replaceAll(/\{\w+\}/g, '{}');
    let entry = entries.get(key);
    if (entry === undefined) {
      entry = { path: operation.path, operations: new Map() };
      entries.set(key, entry);
      if (isPrefix) prefixes.push({ prefix: key, operations: entry.operations });
      else addRoute(tree, '', operation.path.replaceAll(/\{(\w+)\}/g, ':$1'), entry.operations);
    }
    const slot = toSlot(operation.method, operation.upgrade ?? operation.form);
    if (entry.path !== operation.path || entry.operations.has(slot)) {
      throw new Error(
        `operation ${id}: ${operation.method} ${operation.path} collides with another operation at ${entry.path}`,
      );
    }
    entry.operations.set(slot, { id, operation });
  }
  prefixes.sort((one, other) => other.prefix.length - one.prefix.length);
  const owned = prefixes.map((prefix) => ({ ...prefix, rivals: toRivals(prefix, [...entries.values()]) }));
  return {
    match(method, path, protocol, accept) {
      // Most calls of the gateway end here: to look through the tree for each would cost more than all the rest of this function.
      const sure = findOwner(owned, path);
      if (sure !== undefined && !entries.has(withoutSlash(path))) {
        const { id, operation } = pick(sure.operations, method, protocol, accept);
        return { id, operation, params: none };
      }
      const found = path.includes('//') ? undefined : findRoute(tree, '', path);
      if (found !== undefined) {
        return { ...pick(found.data, method, protocol, accept), params: decodeParams(found.params ?? {}) };
      }
      const rest = prefixes.find((candidate) => path.startsWith(candidate.prefix));
      if (rest !== undefined) return { ...pick(rest.operations, method, protocol, accept), params: none };
      throw new RemoraError('not_found', `there is nothing at ${path}; GET /openapi.json lists what is`);
    },
  };
}

/**
 * How the paths begin that another operation with parameters, or one with a longer prefix, could claim. Every other path with this
 * prefix belongs to it, unless an operation has exactly this path.
 */
function toRivals({ prefix }: Prefix, entries: readonly { readonly path: string }[]): readonly string[] {
  return entries.flatMap(({ path }) => {
    const literal = path.split('{')[0] ?? '';
    const isItself = literal === prefix && path.endsWith('...}');
    if (isItself || literal === path) return [];
    return literal.startsWith(prefix) || prefix.startsWith(literal) ? [literal] : [];
  });
}

/** The prefix of the path which nothing else could claim. */
function findOwner(owned: readonly OwnedPrefix[], path: string): OwnedPrefix | undefined {
  for (const one of owned) {
    if (!path.startsWith(one.prefix)) continue;
    let isClaimed = false;
    for (const rival of one.rivals) isClaimed ||= path.startsWith(rival);
    if (!isClaimed) return one;
  }
  return undefined;
}

/** The tree takes a path with a slash at its end for the same path without it. */
function withoutSlash(path: string): string {
  return path.endsWith('/') ? path.slice(0, -1) : path;
}

function toSlot(method: string, protocol: string | undefined): string {
  return protocol === undefined ? method : `${method} ${protocol}`;
}

function pick(operations: Entry, method: string, protocol: string | undefined, accept: string | undefined) {
  const upgraded = protocol === undefined ? undefined : operations.get(toSlot(method, protocol));
  const streamed = accept === undefined ? undefined : operations.get(toSlot(method, 'stream'));
  const hit =
    upgraded ??
    (streamed !== undefined && acceptsStreamOnly(accept) ? streamed : undefined) ??
    operations.get(method) ??
    (method === 'HEAD' ? operations.get('GET') : undefined) ??
    operations.get('*');
  if (hit !== undefined) return hit;
  const upgrades = [...operations.values()].filter(({ operation }) => operation.upgrade !== undefined);
  const upgrade = upgrades.find(({ operation }) => operation.method === method)?.operation.upgrade;
  if (upgrade !== undefined) {
    throw new RemoraError('upgrade_required', `this is served over ${upgrade} only`, { details: { upgrade } });
  }
  const allow = [...new Set([...operations.values()].flatMap(({ operation }) => toAllowed(operation.method)))].join(
    ', ',
  );
  throw new RemoraError('method_not_allowed', `${method} is not allowed here; use ${allow}`, { details: { allow } });
}

function toAllowed(method: string): string[] {
  return method === 'GET' ? ['GET', 'HEAD'] : [method];
}

function decodeParams(params: Readonly<Record<string, string>>): Record<string, string> {
  const decoded: Record<string, string> = {};
  for (const [name, value] of Object.entries(params)) {
    try {
      decoded[name] = decodeURIComponent(value);
    } catch {
      throw new RemoraError('invalid_target', `the path has a broken escape in ${name}`, { details: { field: name } });
    }
  }
  return decoded;
}
