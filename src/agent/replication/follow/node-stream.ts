// Makes one GET /events to the database node: judges the status, gives the body as chunks, and names failures with a code and a cure.

import { errorCode } from '../../../core/error-code.ts';
import { withoutLastSlashes } from '../../../core/without-last-slashes.ts';
import type { Answer } from '../../../http/request.ts';
import type { Upstream } from '../../upstream.ts';
import { FollowFailure } from './follow-failure.ts';

const HEADERS_MS = 10_000;

export interface NodeStream {
  /** `Litefs-Id`; when it differs from the one before, the node was restarted. */
  readonly nodeId: string | undefined;
  /** `Litefs-Cluster-Id`; when it differs from the one before, the cache belongs to another cluster. */
  readonly clusterId: string | undefined;
  /** Ends when the node ends the stream; throws FollowFailure when it breaks off or `signal` aborts. */
  readonly chunks: AsyncIterable<Uint8Array>;
}

/**
 * Requests the stream (Suspend and Replication, Event stream) and returns once the node has answered 200. Any content type is
 * accepted: LiteFS answers `application/json`. The body has no time limit. Aborting `signal` closes the connection, also while
 * reading. Each stream has a connection of its own (`reset`), because one from the pool may have died unnoticed.
 */
export async function openNodeStream(
  node: URL,
  dispatcher: Upstream['dispatcher'],
  signal: AbortSignal,
): Promise<NodeStream> {
  const url = toEventsUrl(node);
  let answer: Answer;
  try {
    answer = await dispatcher.request({
      origin: url.origin,
      path: url.pathname,
      signal,
      method: 'GET',
      headers: { accept: 'application/json, application/x-ndjson;q=0.9, */*;q=0.1' },
      headersTimeout: HEADERS_MS,
      bodyTimeout: 0,
      reset: true,
    });
  } catch (error) {
    throw toFailure(error, url, signal);
  }
  if (answer.statusCode !== 200) {
    answer.body.destroy();
    throw toStatusFailure(answer, url);
  }
  return {
    nodeId: header(answer, 'litefs-id'),
    clusterId: header(answer, 'litefs-cluster-id'),
    chunks: readChunks(answer.body, url, signal),
  };
}

/** `/events` under the node's address, which may have a path of its own. */
export function toEventsUrl(node: URL): URL {
  const url = new URL(node);
  url.username = '';
  url.password = '';
  url.pathname = `${withoutLastSlashes(url.pathname)}/events`;
  url.search = '';
  url.hash = '';
  return url;
}

async function* readChunks(body: Answer['body'], url: URL, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of body as AsyncIterable<Uint8Array>) yield chunk;
  } catch (error) {
    if (signal.aborted || !(error instanceof Error)) throw toFailure(error, url, signal);
    throw new FollowFailure('node_broke_off', `${url.origin} broke the stream off (${error.message})`, {
      cause: error,
    });
  }
}

function toStatusFailure(answer: Answer, url: URL): FollowFailure {
  const { statusCode } = answer;
  if (statusCode === 404) {
    const message = `${url.href} is not there (404): a LiteFS node has it from version 0.5.5 on; check the address, or update the node`;
    return new FollowFailure('node_without_events', message);
  }
  const asked = Number(header(answer, 'retry-after') ?? Number.NaN);
  const options = Number.isFinite(asked) && asked > 0 ? { retryAfter_ms: asked * 1_000 } : {};
  if (statusCode === 405) {
    return new FollowFailure('node_refused', `${url.href} does not take GET (405): is this a database node?`, options);
  }
  return new FollowFailure('node_refused', `${url.href} answered ${statusCode} instead of 200`, options);
}

function toFailure(error: unknown, url: URL, signal: AbortSignal): FollowFailure {
  if (signal.aborted && signal.reason instanceof FollowFailure) return signal.reason;
  const code = errorCode(error) ?? '';
  const text = error instanceof Error && error.message !== '' ? error.message : code;
  if (code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_CONNECT_TIMEOUT') {
    return new FollowFailure('node_timeout', `${url.origin} did not answer in time (${text})`, { cause: error });
  }
  return new FollowFailure('node_unreachable', `${url.origin} cannot be reached (${text})`, { cause: error });
}

function header(answer: Answer, name: string): string | undefined {
  const value = answer.headers[name];
  const first = Array.isArray(value) ? value[0] : value;
  return first === undefined || first === '' ? undefined : first.slice(0, 128);
}
