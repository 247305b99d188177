// The way of calls to providers: plain ones, over HTTP without TLS, go out over connections of their own at half the cost, and all others by
// undici.
import type * as undici from 'undici';
import { PlainPool, readTogether } from '../../http/plain-pool.ts';
import { buildConnector } from '../../http/undici.ts';

export interface ProviderDispatchOptions {
  /** Takes the calls that are not plain. */
  readonly rest: Pick<undici.Dispatcher, 'dispatch'>;
  readonly connectTimeout_ms: number;
  /** How long a connection stays open without a call, where the provider says nothing else. */
  readonly keepAlive_ms: number;
}

export interface ProviderDispatch {
  dispatch: undici.Dispatcher['dispatch'];
  /** Closes the connections of plain calls, and fails these with `error`. */
  destroy(error: Error): void;
}

/** Customers name addresses of their own. Pools without connections are forgotten when there are more than this; beyond it undici takes the calls. */
const ORIGINS_MAX = 256;
const HEADERS_TIMEOUT_MS = 300_000;

export function createProviderDispatch(options: ProviderDispatchOptions): ProviderDispatch {
  const { rest, keepAlive_ms } = options;
  const connect = buildConnector({ timeout: options.connectTimeout_ms, ...readTogether() });
  const pools = new Map<string, PlainPool>();
  let isDestroyed = false;

  function poolOf(origin: string): PlainPool | undefined {
    const known = pools.get(origin);
    if (known !== undefined || isDestroyed) return known;
    if (pools.size >= ORIGINS_MAX) for (const [name, pool] of pools) if (pool.isEmpty) pools.delete(name);
    if (pools.size >= ORIGINS_MAX) return undefined;
    const pool = new PlainPool({
      origin,
      connect,
      keepAlive_ms,
      headersTimeout_ms: HEADERS_TIMEOUT_MS,
      bodyTimeout_ms: 0,
      onFailure: ignore,
      onHead: ignore,
    });
    pools.set(origin, pool);
    return pool;
  }

  return {
    dispatch(call, handler) {
      const { origin } = call;
      const isPlain = typeof origin === 'string' && origin.startsWith('http:');
      if (isPlain && poolOf(origin)?.dispatch(call, handler) === true) return true;
      return rest.dispatch(call, handler);
    },
    destroy(error) {
      isDestroyed = true;
      for (const pool of pools.values()) pool.destroy(error);
      pools.clear();
    },
  };
}

function ignore(): void {}
