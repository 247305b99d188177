// The page of a store, for a person who was signed on by the platform: its keys, its plan, and its end.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { RemoraError } from '../../../core/remora-error.ts';
import { withoutQuery } from '../../../core/without-query.ts';
import { readBody } from '../../../http/request-body.ts';
import type { Notice, SignedCookie } from '../../../provider/index.ts';
import { type BrowserSession, readBrowserSession } from './browser-session.ts';
import { kvPlan } from './kv-plans.ts';
import type { KvStore, KvStores } from './kv-store.ts';
import { toStorePage } from './store-page.ts';

export interface KvPagesDeps {
  readonly stores: KvStores;
  readonly session: SignedCookie;
  readonly origin: string;
  /** Where a browser signs on for a store. */
  readonly toSignOn: (store_id: string) => string;
  readonly say: (notice: Notice) => Promise<void>;
}

const FORM_CAP_BYTES = 1_024;
const ENTRIES_SHOWN = 100;

export function createKvPages({ stores, session, origin, toSignOn, say }: KvPagesDeps) {
  /** Undefined when the browser was sent to sign on. */
  function enter(request: IncomingMessage, response: ServerResponse, store: KvStore): BrowserSession | undefined {
    const person = readBrowserSession(session, request.headers.cookie);
    if (person?.organization_id === store.organization_id) return person;
    response.writeHead(303, { location: toSignOn(store.id), 'cache-control': 'no-store' }).end();
    return undefined;
  }

  function show(response: ServerResponse, store: KvStore, person: BrowserSession): void {
    const entries = stores.list(store.id, '', ENTRIES_SHOWN).map(({ key, bytes }) => {
      return { key, bytes, value: stores.get(store.id, key)?.toString('utf8') ?? '' };
    });
    const page = toStorePage({ store, usage: stores.usage(store.id), person, entries });
    response.writeHead(200, {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': "default-src 'none'; form-action 'self'; frame-ancestors 'none'",
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    });
    response.end(page);
  }

  async function change(request: IncomingMessage, store: KvStore, person: BrowserSession): Promise<void> {
    // The cookie alone says who asks, and not whether the person wanted it.
    if (request.headers.origin !== origin) throw new RemoraError('forbidden', 'the form is not one of this site');
    if (person.role !== 'admin')
      throw new RemoraError('forbidden', 'only an admin of the organization may change this');
    const form = new URLSearchParams((await readBody(request, { cap_bytes: FORM_CAP_BYTES })).toString('utf8'));
    if (form.get('action') === 'delete') {
      stores.remove(store.id);
      await say({ action: 'resource.deleted', resource: { id: store.id } });
      return;
    }
    const plan = kvPlan.safeParse(form.get('plan')).data;
    if (plan === undefined) throw new RemoraError('invalid_request', 'there is no such plan');
    stores.setPlan(store.id, plan);
    await say({ action: 'resource.updated', resource: { id: store.id, plan, status: 'ready' } });
  }

  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const [, , store_id = ''] = withoutQuery(request.url ?? '').split('/');
    const store = stores.find(store_id);
    if (store === undefined) throw new RemoraError('not_found', 'there is no such store, or no more');
    const person = enter(request, response, store);
    if (person === undefined) return;
    if (request.method === 'GET') {
      show(response, store, person);
      return;
    }
    if (request.method !== 'POST')
      throw new RemoraError('method_not_allowed', 'use GET, POST', { details: { allow: 'GET, POST' } });
    await change(request, store, person);
    response.writeHead(303, { location: `/stores/${store.id}` }).end();
  };
}
