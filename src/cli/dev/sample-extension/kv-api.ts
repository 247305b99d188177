// The key-value store over HTTP: `GET`, `PUT` and `DELETE /kv/{store}/{key}`, and `GET /kv/{store}` for the keys. The access key comes as
// a bearer token, or as the password of the URL.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { toDateTime } from '../../../core/clock.ts';
import { RemoraError } from '../../../core/remora-error.ts';
import { withoutQuery } from '../../../core/without-query.ts';
import { sendJson } from '../../../http/reply.ts';
import { readBody } from '../../../http/request-body.ts';
import { VALUE_BYTES_MAX } from './kv-plans.ts';
import type { KvStores } from './kv-store.ts';

const KEYS_LISTED = 1_000;
/** A value is whatever a program has put there: no browser may take it for a page. */
const headersOfValue = {
  'content-type': 'text/plain; charset=utf-8',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; sandbox",
};

export async function serveKv(stores: KvStores, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const target = request.url ?? '';
  const [, , store_id = '', ...rest] = withoutQuery(target).split('/');
  if (!stores.opens(store_id, readAccessKey(request.headers.authorization))) {
    throw new RemoraError('unauthorized', 'the store and its access key do not fit; both are in SAMPLE_KV_URL');
  }
  if (rest.length === 0 && request.method === 'GET') {
    const after = new URLSearchParams(target.split('?')[1]).get('after') ?? '';
    const keys = stores.list(store_id, after, KEYS_LISTED).map(({ key, bytes, updated_ms }) => {
      return { key, bytes, updated_at: toDateTime(updated_ms) };
    });
    sendJson(response, 200, { keys });
    return;
  }
  const key = toKey(rest);
  switch (request.method) {
    case 'GET': {
      const value = stores.get(store_id, key);
      if (value === undefined) throw new RemoraError('not_found', 'there is no such key');
      response.writeHead(200, { ...headersOfValue, 'content-length': value.length }).end(value);
      return;
    }
    case 'PUT':
      stores.put(store_id, key, await readBody(request, { cap_bytes: VALUE_BYTES_MAX }));
      response.writeHead(204).end();
      return;
    case 'DELETE':
      if (!stores.delete(store_id, key)) throw new RemoraError('not_found', 'there is no such key');
      response.writeHead(204).end();
      return;
    default:
      throw new RemoraError('method_not_allowed', 'use GET, PUT, DELETE', { details: { allow: 'GET, PUT, DELETE' } });
  }
}

function readAccessKey(authorization = ''): string {
  const [scheme = '', credential = ''] = authorization.split(' ');
  if (scheme.toLowerCase() === 'bearer') return credential;
  if (scheme.toLowerCase() !== 'basic') return '';
  const text = Buffer.from(credential, 'base64').toString('utf8');
  return text.slice(text.indexOf(':') + 1);
}

function toKey(parts: readonly string[]): string {
  try {
    return decodeURIComponent(parts.join('/'));
  } catch {
    throw new RemoraError('invalid_request', 'the key in the path is no UTF-8');
  }
}
