// A provider that keeps one resource for each extension and knows how often it made one, over a real server whose answers go wrong as the
// test says: before or after the effect, slowly, in half, or as something else.
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Asked, startProvisioner } from '../provisioner.ts';

export const mishaps = ['none', 'lost', 'cut', 'busy', 'down', 'slow', 'junk', 'half', 'other id'] as const;
/** `lost`: nothing was done. `cut`: it was done, and nobody hears of it. */
export type Mishap = (typeof mishaps)[number];

export interface ModelResource {
  /** The number of updates by which the values differ from the first ones. */
  version: number;
  status: string;
  readonly name: string;
}

export async function startModelProvider() {
  const server = await startProvisioner();
  /** The resources by the id of the extension here. */
  const resources = new Map<string, ModelResource>();
  const made = new Map<string, number>();
  let draw: (asked: Asked) => Mishap = () => 'none';
  /** How many times the status is `provisioning` before it is `ready`. */
  let polls = 0;

  function toConfig(id: string, { name, version }: ModelResource): Record<string, string> {
    const own = { [`KEY_${name.replaceAll('-', '_').toUpperCase()}`]: `${id} v${version}` };
    return name.includes('shared') ? { ...own, SHARED: `${id} v${version}` } : own;
  }

  function carryOut({ method, path, json }: Asked): { readonly status: number; readonly body?: object } {
    // It knows a resource by two ids, and tells the second one where it is to go wrong.
    const id =
      method === 'POST' ? String(json.id) : decodeURIComponent(path.split('/').at(-1) ?? '').replace(/^rx?-/, '');
    const found = resources.get(id);
    if (method === 'POST') {
      const resource = found ?? { version: 1, status: polls > 0 ? 'provisioning' : 'ready', name: String(json.name) };
      if (found === undefined) made.set(id, (made.get(id) ?? 0) + 1);
      resources.set(id, resource);
      return { status: 200, body: { id: `r-${id}`, config: toConfig(id, resource) } };
    }
    if (found === undefined) return { status: 404 };
    if (method === 'DELETE') {
      resources.delete(id);
      return { status: 204 };
    }
    if (method === 'PATCH') {
      found.version += 1;
      return { status: 200, body: { id: `r-${id}`, config: toConfig(id, found) } };
    }
    if (found.status === 'provisioning' && --polls <= 0) found.status = 'ready';
    return { status: 200, body: { id: `r-${id}`, status: found.status, plan: 'small' } };
  }

  server.spoil(async (asked, response, request) => {
    const mishap = draw(asked);
    if (mishap === 'lost') request.socket.destroy();
    else if (mishap === 'busy') response.writeHead(429, { 'retry-after': '0' }).end();
    else if (mishap === 'down') response.writeHead(502).end('<html>');
    else {
      const { status, body } = carryOut(asked);
      if (mishap === 'slow') await sleep(60);
      if (mishap === 'cut') request.socket.destroy();
      else if (mishap === 'junk' && asked.method === 'GET') response.writeHead(200).end('<html>');
      else if (mishap === 'half') sendHalf(response, status);
      else {
        const text = body === undefined ? '' : JSON.stringify(body);
        response.writeHead(status, { 'content-type': 'application/json' });
        response.end(mishap === 'other id' && asked.method === 'PATCH' ? text.replace('"r-', '"rx-') : text);
      }
    }
    return true;
  });

  return {
    ...server,
    resources,
    made,
    configOf: (id: string) => {
      const resource = resources.get(id);
      return resource === undefined ? undefined : toConfig(id, resource);
    },
    go(next: (asked: Asked) => Mishap) {
      draw = next;
    },
    poll(times: number) {
      polls = times;
    },
  };
}

function sendHalf(response: ServerResponse, status: number): void {
  response.writeHead(status === 204 ? 200 : status, { 'content-length': '1000' });
  response.write('{"id":"', () => response.destroy());
}
