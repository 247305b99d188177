// Connections of HTTP/1.1 to other servers, and the calls over them. Plain calls, which are nearly all, go out over connections of our own,
// at half the cost; undici, which takes 40 ms and 12 MB, is loaded for the first of the others.
import { channel } from 'node:diagnostics_channel';
import type { buildConnector, Dispatcher } from 'undici';
import { AnswerFault } from '../core/http/answer-fault.ts';
import type { DialOptions } from './dial.ts';
import type { OutboundUndici } from './outbound-undici.ts';
import type { PlainCall } from './plain-call.ts';
import { PlainPool, readTogether } from './plain-pool.ts';
import { type Answer, type RequestOptions, request } from './request.ts';

export interface OutboundOptions {
  /** Makes the connector. `reads`: how its connections read, which it has to pass on to `createDial`. */
  readonly dial: (reads: Pick<DialOptions, 'onread'>) => buildConnector.connector;
  /** How long a connection stays open without a call, where the upstream says nothing else. */
  readonly idle_ms: number;
  /** How long the head of an answer may take, unless the call says otherwise; 0 = no limit. */
  readonly headers_ms: number;
}

export interface Outbound {
  /** Bodies have no time limit, unless the call says otherwise. */
  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean;
  /** Rejects with the error of the connection, or with the reason of the signal; every status resolves. */
  request(options: RequestOptions): Promise<Answer>;
  /** The same, where those who watch the calls of this process hear only of what goes wrong. */
  readonly unwatched: Pick<Outbound, 'dispatch'>;
  /** Takes no more calls. Resolves when those that it has are over. */
  close(): Promise<void>;
  /** Closes all connections, and fails the calls with `error`. */
  destroy(error: Error): Promise<void>;
}

/** Where undici tells of its calls, and so these connections of theirs. */
const asked = channel('undici:request:create');
const answered = channel('undici:request:headers');
const failed = channel('undici:request:error');

const FIRST_ERROR_STATUS = 400;

export function openOutbound(options: OutboundOptions): Outbound {
  const { dial, idle_ms, headers_ms } = options;
  const connect = dial(readTogether());
  const plain = new Map<string, PlainPool>();
  let loading: Promise<OutboundUndici> | undefined;
  let loaded: OutboundUndici | undefined;
  /** Why no more calls are taken. */
  let ending: Error | undefined;
  let destroyed: Error | undefined;

  function poolOf(origin: string): PlainPool {
    const known = plain.get(origin);
    if (known !== undefined) return known;
    const pool = new PlainPool({
      origin,
      connect,
      keepAlive_ms: idle_ms,
      headersTimeout_ms: headers_ms,
      bodyTimeout_ms: 0,
      onFailure(call, error) {
        if (failed.hasSubscribers) failed.publish({ request: call, error });
      },
      onHead(call, statusCode, headers) {
        if (statusCode < FIRST_ERROR_STATUS && !call.isWatched) return;
        if (answered.hasSubscribers) answered.publish({ request: call, response: { statusCode, headers } });
      },
    });
    plain.set(origin, pool);
    return pool;
  }

  /** A file that could not be read is read again for the next call. */
  async function load(): Promise<OutboundUndici> {
    try {
      const { openUndici } = await import('./outbound-undici.ts');
      loaded = openUndici(options);
      return loaded;
    } catch (error) {
      loading = undefined;
      throw error;
    }
  }

  /** Resolves with nothing where there is none, or where its calls have failed because it could not be loaded. */
  async function loadedUndici(): Promise<OutboundUndici | undefined> {
    return await loading?.catch(() => undefined);
  }

  function dispatchRest(call: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    if (loaded !== undefined) return loaded.dispatch(call, handler);
    loading ??= load();
    loading.then(
      (undici) => (destroyed === undefined ? undici.dispatch(call, handler) : refuse(handler, destroyed)),
      (error: Error) => refuse(handler, error),
    );
    return true;
  }

  function begin(call: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): PlainCall | undefined {
    const { origin } = call;
    return typeof origin === 'string' ? poolOf(origin).begin(call, handler) : undefined;
  }

  function dispatchUnwatched(call: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    if (ending !== undefined) return refuse(handler, ending);
    return begin(call, handler) !== undefined || dispatchRest(call, handler);
  }

  function dispatch(call: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    if (ending !== undefined) return refuse(handler, ending);
    const plainCall = begin(call, handler);
    if (plainCall === undefined) return dispatchRest(call, handler);
    plainCall.isWatched = true;
    if (asked.hasSubscribers) asked.publish({ request: plainCall });
    return true;
  }

  return {
    dispatch,
    request: (call) => request({ dispatch }, call),
    unwatched: { dispatch: dispatchUnwatched },
    async close() {
      ending ??= new AnswerFault('UND_ERR_CLOSED', 'the connections are being closed');
      await Promise.all([
        ...[...plain.values()].map((pool) => pool.close()),
        loadedUndici().then((undici) => undici?.close()),
      ]);
    },
    async destroy(error) {
      ending = error;
      destroyed = error;
      for (const pool of plain.values()) pool.destroy(error);
      await (await loadedUndici())?.destroy(error);
    },
  };
}

/** The handler of a call that was not begun. */
function refuse(handler: Dispatcher.DispatchHandler, error: Error): true {
  // undici has no controller for such a call either.
  handler.onResponseError?.(null as unknown as Dispatcher.DispatchController, error);
  return true;
}
