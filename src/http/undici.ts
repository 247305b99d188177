// The pieces of undici that Remora uses, each by its file. The whole package loads a fetch, WebSockets, caches and mocks besides, which
// double what it costs a process: 35 ms and 6 MB.
import { createRequire } from 'node:module';
import type * as undici from 'undici';

const require = createRequire(import.meta.url);

export const Agent: typeof undici.Agent = require('undici/lib/dispatcher/agent.js');
export const Client: typeof undici.Client = require('undici/lib/dispatcher/client.js');
export const Pool: typeof undici.Pool = require('undici/lib/dispatcher/pool.js');
export const buildConnector: typeof undici.buildConnector = require('undici/lib/core/connect.js');
export const errors: typeof undici.errors = require('undici/lib/core/errors.js');

/** Does what the package does at its start: `request`, `stream` and the like are methods of every dispatcher. */
const Dispatcher: typeof undici.Dispatcher = require('undici/lib/dispatcher/dispatcher.js');
Object.assign(Dispatcher.prototype, require('undici/lib/api/index.js'));

export interface RequestOptions extends Omit<undici.Dispatcher.RequestOptions, 'method' | 'origin' | 'path'> {
  /** GET when absent. */
  readonly method?: undici.Dispatcher.HttpMethod;
  readonly dispatcher: undici.Dispatcher;
}

/** One call to `url`. Rejects with the error of the connection; every status resolves. */
export function request(url: string | URL, options: RequestOptions): Promise<undici.Dispatcher.ResponseData> {
  const { origin, pathname, search } = new URL(url);
  const { dispatcher, method = 'GET', ...more } = options;
  return dispatcher.request({ ...more, method, origin, path: pathname + search });
}
