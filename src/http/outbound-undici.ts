// The calls of an outbound that are not plain, by undici: those with a streamed body, an upgrade, or an unusual method.
import type * as undici from 'undici';
import { joinAnswerChunks } from './join-answer-chunks.ts';
import type { OutboundOptions } from './outbound.ts';
import { Agent, Pool } from './undici.ts';

export interface OutboundUndici {
  dispatch(options: undici.Dispatcher.DispatchOptions, handler: undici.Dispatcher.DispatchHandler): boolean;
  /** Resolves when the calls are over. */
  close(): Promise<void>;
  destroy(error: Error): Promise<void>;
}

/** undici's Agent forgets its pools while it closes, and destroying it then leaves their calls open; so the pools are kept here. */
export function openUndici({ dial, idle_ms, headers_ms }: OutboundOptions): OutboundUndici {
  const pools = new Set<undici.Pool>();
  const agent = new Agent({
    connect: joinAnswerChunks(dial({})),
    headersTimeout: headers_ms,
    bodyTimeout: 0,
    keepAliveTimeout: idle_ms,
    pipelining: 1,
    // The streaming proxy passes raw headers on, which undici does not have for HTTP/2.
    allowH2: false,
    factory(origin, poolOptions) {
      for (const known of pools) if (known.destroyed) pools.delete(known);
      const pool = new Pool(origin, poolOptions);
      pools.add(pool);
      return pool;
    },
  });
  return {
    dispatch: (call, handler) => agent.dispatch(call, handler),
    close: () => agent.close(),
    async destroy(error) {
      await Promise.all([agent.destroy(error), ...[...pools].map((pool) => pool.destroy(error))]);
    },
  };
}
