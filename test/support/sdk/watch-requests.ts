// Which operations of the contract the client asks for, by the requests that it really makes.

import type { Operation } from '../../../src/contract/operation.ts';
import { platformOperations } from '../../../src/contract/platform-operations.ts';

export type OperationId = keyof typeof platformOperations;

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly isSocket: boolean;
  readonly wantsLines: boolean;
}

const all = Object.entries(platformOperations) as [OperationId, Operation][];
const PREFIX = /^\/v1\/sprites\/([^/?]+)/;

/** The operations below the path of a sprite. */
export const spriteOperationIds: readonly OperationId[] = all
  .filter(([, { path }]) => path.startsWith('/v1/sprites/{name}'))
  .map(([id]) => id);

/** Whether the operation reaches into the machine, so that one that sleeps is woken. */
export function reachesIn(id: OperationId): boolean {
  return (platformOperations[id].errors as readonly string[]).includes('not_reachable');
}

function findOperation({ method, path, isSocket, wantsLines }: Asked): OperationId {
  const found = all.find(([, operation]) => {
    const segments = operation.path.replace(/\{\w+\.\.\.\}/, '.*').replace(/\{\w+\}/g, '[^/]+');
    const isSwitched =
      operation.upgrade === 'websocket' || ('upgrades' in operation.answer && operation.answer.upgrades);
    if (operation.method !== method || !new RegExp(`^${segments}$`).test(path)) return false;
    return isSocket ? isSwitched : operation.upgrade === undefined && (operation.form === 'stream') === wantsLines;
  });
  if (found === undefined) throw new Error(`no operation is at ${method} ${path}`);
  return found[0];
}

/** What is asked of each sprite from now on, in order; the list of a sprite is made at the first look. */
export function watchRequests(): (sprite: string) => OperationId[] {
  const lists = new Map<string, OperationId[]>();
  const listOf = (sprite: string) => {
    const list = lists.get(sprite) ?? [];
    lists.set(sprite, list);
    return list;
  };
  const note = (url: URL, asked: Omit<Asked, 'path'>) => {
    const [, sprite] = PREFIX.exec(url.pathname) ?? [];
    if (sprite !== undefined) listOf(sprite).push(findOperation({ ...asked, path: url.pathname }));
  };
  const { fetch, WebSocket } = globalThis;
  globalThis.fetch = (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    const wantsLines = new Headers(init?.headers).get('accept') === 'application/x-ndjson';
    note(url, { method: init?.method ?? 'GET', isSocket: false, wantsLines });
    return fetch(input, init);
  };
  globalThis.WebSocket = class extends WebSocket {
    constructor(...given: ConstructorParameters<typeof WebSocket>) {
      super(...given);
      note(new URL(given[0]), { method: 'GET', isSocket: true, wantsLines: false });
    }
  };
  return listOf;
}
