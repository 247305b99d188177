// Whether a request really comes from the platform: signature, time, nonce and address (Extensions API, Request signing).

import { signedQuery } from '../contract/extensions.ts';
import { readBoundedJson } from '../core/bounded-json.ts';
import type { Clock } from '../core/clock.ts';
import { RemoraError } from '../core/remora-error.ts';
import type { Secret } from '../core/secret.ts';
import { matchesSignature } from '../core/signature.ts';
import { withoutLastSlashes } from '../core/without-last-slashes.ts';
import { withoutQuery } from '../core/without-query.ts';
import { NONCE_KEPT_MS, type NonceBook } from './store/nonce-book.ts';

export const TIMESTAMP_WINDOW_MS = 300_000;
const UNSIGNED =
  'the request is not signed as it must be: X-Signature is the HMAC-SHA256 of the query or the body, which has url, nonce and timestamp';
/** How often old nonces are forgotten. */
const FORGET_EVERY_MS = 10_000;
/** A clock that is kept right by small corrections is steady. */
const STEP_MIN_MS = 60_000;

export interface VerifierOptions {
  /** Asked for each request; more than one while a secret is being changed. */
  readonly secrets: () => readonly Secret[];
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

/**
 * Resolves with the signed fields: those of the query for GET and DELETE, else the value of the body. Rejects with `unauthorized`,
 * with one message for every cause, so that a forger does not learn which check failed.
 */
export type RequestVerifier = (request: SignedRequest) => Promise<unknown>;

export function createRequestVerifier(options: VerifierOptions): RequestVerifier {
  const base = withoutLastSlashes(options.baseUrl);
  const { clock, nonces } = options;
  let forgotten_ms = Number.NEGATIVE_INFINITY;
  let step_ms = clock.wall_ms() - clock.mono_ms();
  let steady_ms = Number.NEGATIVE_INFINITY;

  /** False for a while after the clock was set: it may be set back, and then a nonce that looks old is good once more. */
  function isSteady(now_ms: number): boolean {
    const mono_ms = clock.mono_ms();
    if (Math.abs(now_ms - mono_ms - step_ms) > STEP_MIN_MS) steady_ms = mono_ms + NONCE_KEPT_MS;
    step_ms = now_ms - mono_ms;
    return mono_ms >= steady_ms;
  }

  async function forgetOldNonces(now_ms: number): Promise<void> {
    forgotten_ms = now_ms;
    if (isSteady(now_ms)) await nonces.forget(now_ms - NONCE_KEPT_MS);
  }

  return async (request) => {
    const content = toContent(request);
    const { signature } = request;
    const signed =
      signature !== undefined && options.secrets().some((secret) => matchesSignature(secret, content, signature));
    const fields = signed ? readFields(request, content) : undefined;
    const { success, data: parameters } = signedQuery.safeParse(fields);
    const now_ms = clock.wall_ms();
    const isMeant =
      success &&
      Math.abs(now_ms - parameters.timestamp * 1_000) <= TIMESTAMP_WINDOW_MS &&
      withoutQuery(parameters.url) === base + withoutQuery(request.target);
    if (!isMeant) throw new RemoraError('unauthorized', UNSIGNED);
    if (Math.abs(now_ms - forgotten_ms) >= FORGET_EVERY_MS) await forgetOldNonces(now_ms);
    const used = nonces.use(parameters.nonce, now_ms);
    // A book in memory has answered already.
    const isFirst = typeof used === 'boolean' ? used : await used;
    if (!isFirst) throw new RemoraError('unauthorized', UNSIGNED);
    return fields;
  };
}

/** The query string for GET and DELETE, the body for POST and PATCH: the bytes themselves, never a new serialization. */
function toContent({ method, target, body }: SignedRequest): string | Uint8Array {
  if (method !== 'GET' && method !== 'DELETE') return body;
  const start = target.indexOf('?');
  return start < 0 ? '' : target.slice(start + 1);
}

function readFields({ method }: SignedRequest, content: string | Uint8Array): unknown {
  const text = typeof content === 'string' ? content : toBuffer(content).toString('utf8');
  return method === 'GET' || method === 'DELETE'
    ? Object.fromEntries(new URLSearchParams(text))
    : readBoundedJson(text);
}

/** Shares the memory of `bytes`. */
function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
