// Whether a request really comes from the platform: signature, time, nonce and address (Extensions API, Request signing).

import { signedQuery } from '../contract/extensions.ts';
import { parseBoundedJson } from '../core/bounded-json.ts';
import type { Clock } from '../core/clock.ts';
import { RemoraError } from '../core/remora-error.ts';
import type { Secret } from '../core/secret.ts';
import { matchesSignature } from '../core/signature.ts';
import { withoutLastSlashes } from '../core/without-last-slashes.ts';
import { withoutQuery } from '../core/without-query.ts';
import type { NonceBook } from './nonce-book.ts';

export const TIMESTAMP_WINDOW_MS = 300_000;

export interface VerifierOptions {
  /** More than one while a secret is being changed. */
  readonly secrets: readonly Secret[];
  /** The address under which the platform knows this provider. Never taken from `Host`, which the caller chooses. */
  readonly baseUrl: string;
  readonly nonces: NonceBook;
  readonly clock: Clock;
}

export interface SignedRequest {
  readonly method: string;
  /** Path and query as they were received, relative to the base URL. */
  readonly target: string;
  /** The value of `X-Signature`. */
  readonly signature: string | undefined;
  /** The raw bytes; empty for GET and DELETE. */
  readonly body: Uint8Array;
}

/** Throws `unauthorized`, with one message for every cause, so that a forger does not learn which check failed. */
export function createRequestVerifier(options: VerifierOptions): (request: SignedRequest) => void {
  const base = withoutLastSlashes(options.baseUrl);
  return (request) => {
    const content = toContent(request);
    const { signature } = request;
    const signed =
      signature !== undefined && options.secrets.some((secret) => matchesSignature(secret, content, signature));
    const parameters = signed ? readParameters(request, content) : undefined;
    const now_ms = options.clock.wall_ms();
    const believed =
      parameters !== undefined &&
      Math.abs(now_ms - parameters.timestamp * 1_000) <= TIMESTAMP_WINDOW_MS &&
      withoutQuery(parameters.url) === base + withoutQuery(request.target) &&
      options.nonces.use(parameters.nonce, now_ms);
    if (!believed) throw new RemoraError('unauthorized', 'the request is not signed as it must be');
  };
}

/** The query string for GET and DELETE, the body for POST and PATCH: the bytes themselves, never a new serialization. */
function toContent({ method, target, body }: SignedRequest): string | Uint8Array {
  if (method !== 'GET' && method !== 'DELETE') return body;
  const start = target.indexOf('?');
  return start < 0 ? '' : target.slice(start + 1);
}

function readParameters({ method }: SignedRequest, content: string | Uint8Array) {
  const text = typeof content === 'string' ? content : Buffer.from(content).toString('utf8');
  const raw: unknown =
    method === 'GET' || method === 'DELETE' ? Object.fromEntries(new URLSearchParams(text)) : toJson(text);
  const parsed = signedQuery.safeParse(raw);
  return parsed.success ? parsed.data : undefined;
}

function toJson(text: string): unknown {
  try {
    return parseBoundedJson(text);
  } catch {
    return undefined;
  }
}
