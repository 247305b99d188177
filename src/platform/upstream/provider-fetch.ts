// Short calls that the platform itself makes to a provider, with a deadline, a cap on the answer, no redirects and no cookies.
import type { Dispatcher } from 'undici';
import { Pieces } from '../../core/http/pieces.ts';
import { RemoraError } from '../../core/remora-error.ts';

export interface ProviderRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface ProviderAnswer {
  readonly status: number;
  /** The content type; empty when there is none. */
  readonly type: string;
  readonly text: string;
}

/** Throws `upstream_failed` or `upstream_timeout`, and what the dispatcher throws as a RemoraError. */
export type ProviderFetch = (url: string, request: ProviderRequest) => Promise<ProviderAnswer>;

export const DEADLINE_MS = 15_000;
const ANSWER_CAP_BYTES = 256 * 1024;

export function createProviderFetch(dispatcher: Dispatcher, deadline_ms = DEADLINE_MS): ProviderFetch {
  return async (url, { method, headers = {}, body }) => {
    const { origin, pathname, search } = new URL(url);
    try {
      const answer = await dispatcher.request({
        origin,
        path: pathname + search,
        method,
        headers: { accept: 'application/json', 'user-agent': 'remora', ...headers },
        body: body ?? null,
        signal: AbortSignal.timeout(deadline_ms),
      });
      const type = answer.headers['content-type'] ?? '';
      const pieces = new Pieces();
      for await (const chunk of answer.body) {
        pieces.push(chunk);
        if (pieces.bytes > ANSWER_CAP_BYTES)
          throw new RemoraError('upstream_failed', 'the answer of the provider is too long');
      }
      const text = pieces.take().toString('utf8');
      return { status: answer.statusCode, type: Array.isArray(type) ? (type[0] ?? '') : type, text };
    } catch (cause) {
      if (cause instanceof RemoraError) throw cause;
      if (cause instanceof Error && cause.name === 'TimeoutError') {
        throw new RemoraError('upstream_timeout', 'the provider did not answer in time', { cause });
      }
      throw new RemoraError('upstream_failed', 'the provider could not be reached', { cause });
    }
  };
}
