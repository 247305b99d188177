// The calls of the platform to a provider of extensions (Extensions API, Request signing): signed over the bytes that are sent, with a deadline,
// a cap on the answer, and no redirects.
import type { Dispatcher } from 'undici';
import { parseRetryAfter } from '../../client/failure.ts';
import type { Clock } from '../../core/clock.ts';
import { toErrorMessage } from '../../core/error-message.ts';
import { Pieces } from '../../core/http/pieces.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Secret } from '../../core/secret.ts';
import { signContent } from '../../core/signature.ts';
import { randomToken } from '../../core/urandom.ts';
import type { ExtensionProvider } from '../extension-providers/extension-provider.ts';
import type { ExtensionProviders } from '../extension-providers/extension-providers.ts';

interface SharedRequest {
  /** Begins with a slash, and is put behind the base URL. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly deadline_ms: number;
  /** Bounds the answer; 64 KB when absent. */
  readonly cap_bytes?: number;
  readonly signal?: AbortSignal;
  /**
   * Whether the connection may serve further requests: only where the answer says nothing but its status. What a provider sends twice would be
   * taken for the answer to the next request.
   */
  readonly keepsConnection?: boolean;
}

/** What is signed with a request is put into `body` or `query`. */
export type SignedRequest = SharedRequest &
  (
    | { readonly method: 'POST' | 'PATCH'; readonly body: Readonly<Record<string, unknown>> }
    | { readonly method: 'GET' | 'DELETE'; readonly query?: Readonly<Record<string, string>> }
  );

export interface SignedAnswer {
  readonly status: number;
  /** Undefined for an answer that is longer than its cap: the rest is not read. */
  readonly text: string | undefined;
  /** What the provider asks to be left alone for, an hour at most. */
  readonly retryAfter_ms: number | undefined;
}

/**
 * Resolves with an answer of any status. While the secret is changed, a 401 is answered by one more try with the previous one: the provider may
 * not have the new one yet. Throws `upstream_failed`, `upstream_timeout` after the deadline, and the reason of `signal`.
 */
export type SignedCall = (provider: ExtensionProvider, request: SignedRequest) => Promise<SignedAnswer>;

export interface SignedCallDeps {
  readonly providers: Pick<ExtensionProviders, 'openSecrets'>;
  /** Resolves with what dials, and keeps connections for further requests or not; called for each request. */
  readonly openDispatcher: (keepsConnection: boolean) => Promise<Dispatcher>;
  readonly clock: Clock;
}

const CAP_BYTES = 64 * 1024;
const NONCE_BYTES = 18;

export function createSignedCall({ providers, openDispatcher, clock }: SignedCallDeps): SignedCall {
  async function send(provider: ExtensionProvider, request: SignedRequest, secret: Secret, signal: AbortSignal) {
    const { method, path, headers } = request;
    const url = provider.base_url + path;
    const parameters = { url, nonce: randomToken(NONCE_BYTES), timestamp: Math.floor(clock.wall_ms() / 1_000) };
    const { origin, pathname } = new URL(url);
    const body = 'body' in request ? JSON.stringify({ ...request.body, ...parameters }) : null;
    const query = 'body' in request ? '' : toQuery({ ...request.query, ...parameters });
    const answer = await (await openDispatcher(request.keepsConnection ?? false)).request({
      origin,
      path: query === '' ? pathname : `${pathname}?${query}`,
      method,
      headers: {
        accept: 'application/json',
        'user-agent': 'remora',
        ...(body === null ? {} : { 'content-type': 'application/json' }),
        ...headers,
        'x-signature': signContent(secret, body ?? query),
      },
      body,
      signal,
    });
    const { 'retry-after': retryAfter, date } = answer.headers;
    const text = await readCapped(answer.body, request.cap_bytes ?? CAP_BYTES);
    return { status: answer.statusCode, text, retryAfter_ms: parseRetryAfter(toOne(retryAfter), toOne(date)) };
  }

  return async (provider, request) => {
    const deadline = AbortSignal.timeout(request.deadline_ms);
    const signal = request.signal === undefined ? deadline : AbortSignal.any([deadline, request.signal]);
    try {
      const [first, before] = await providers.openSecrets(provider, 'provisioning');
      if (first === undefined) throw new Error(`the extension provider ${provider.name} has no secret`);
      const answer = await send(provider, request, first, signal);
      if (answer.status !== 401 || before === undefined) return answer;
      return await send(provider, request, before, signal);
    } catch (cause) {
      if (cause instanceof RemoraError) throw cause;
      request.signal?.throwIfAborted();
      if (deadline.aborted) throw new RemoraError('upstream_timeout', 'the provider did not answer in time', { cause });
      throw new RemoraError('upstream_failed', `the provider could not be called: ${toErrorMessage(cause)}`, { cause });
    }
  };
}

function toQuery(parameters: Readonly<Record<string, string | number>>): string {
  return new URLSearchParams(Object.entries(parameters).map(([name, value]) => [name, String(value)])).toString();
}

async function readCapped(body: AsyncIterable<Buffer>, cap_bytes: number): Promise<string | undefined> {
  const pieces = new Pieces();
  for await (const chunk of body) {
    pieces.push(chunk);
    if (pieces.bytes > cap_bytes) return undefined;
  }
  return pieces.take().toString('utf8');
}

function toOne(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
