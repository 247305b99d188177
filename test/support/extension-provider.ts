// A provider of extensions of a test: a real server that verifies each request with the kit, reads events with the SDK of CloudEvents, and
// answers as the test says.
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { type CloudEvent, HTTP } from 'cloudevents';
import { systemClock } from '../../src/core/clock.ts';
import type { Secret } from '../../src/core/secret.ts';
import { createNonceBook } from '../../src/provider/store/nonce-book.ts';
import { createRequestVerifier } from '../../src/provider/verify-request.ts';
import { atEnd } from './at-end.ts';

export interface ProviderRequest {
  readonly method: string;
  /** The path without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
  /** Undefined for a request that carries none. */
  readonly event: CloudEvent<EventBody> | undefined;
}

export interface EventBody {
  readonly url: string;
  readonly nonce: string;
  readonly timestamp: number;
  readonly machine_id?: string;
  readonly status: string;
  // biome-ignore lint/suspicious/noExplicitAny: what the tests compare.
  readonly data: any;
}

export interface ProviderReply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface TestProvider {
  readonly base_url: string;
  /** Each that was verified, in the order of arrival, whatever was answered. */
  readonly requests: readonly ProviderRequest[];
  readonly events: readonly CloudEvent<EventBody>[];
  /** How many were refused, because their signature does not hold. */
  readonly refused: () => number;
  /** Must be called before the first request comes. */
  trust(...secrets: readonly Secret[]): void;
  /** What is answered from now on; 204 at first. */
  answer(reply: (request: ProviderRequest) => ProviderReply | Promise<ProviderReply>): void;
}

export async function startTestProvider(): Promise<TestProvider> {
  const requests: ProviderRequest[] = [];
  let refused = 0;
  let verify: ReturnType<typeof createRequestVerifier> | undefined;
  let reply: (request: ProviderRequest) => ProviderReply | Promise<ProviderReply> = () => ({ status: 204 });
  const server = createServer(async (incoming, outgoing) => {
    // A platform that ends breaks its requests off.
    const body = await buffer(incoming).catch(() => undefined);
    if (body === undefined) return;
    const { method = '', url: target = '', headers } = incoming;
    const end = (answer: ProviderReply) => {
      outgoing.writeHead(answer.status, answer.headers);
      outgoing.end(answer.body);
    };
    try {
      const signature = headers['x-signature'];
      if (typeof signature !== 'string' || verify === undefined) throw new Error('it is not signed');
      await verify({ method, target: target.replace(/^\/base/, ''), signature, body });
    } catch {
      refused += 1;
      return end({ status: 401 });
    }
    const { pathname: path, searchParams: query } = new URL(target, 'http://provider');
    const text = body.toString();
    const event = headers['ce-id'] === undefined ? undefined : toEvent(headers, text);
    const request = { method, path, query, headers, text, event };
    requests.push(request);
    end(await reply(request));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  const base_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/base`;
  return {
    base_url,
    requests,
    get events() {
      return requests.flatMap(({ event }) => event ?? []);
    },
    refused: () => refused,
    trust(...secrets) {
      verify = createRequestVerifier({
        secrets: () => secrets,
        baseUrl: base_url,
        nonces: createNonceBook(),
        clock: systemClock,
      });
    },
    answer(next) {
      reply = next;
    },
  };
}

/** Throws for headers or a body that the SDK does not take for a CloudEvent in binary mode. */
function toEvent(headers: IncomingMessage['headers'], body: string): CloudEvent<EventBody> {
  const event = HTTP.toEvent<EventBody>({ headers, body });
  if (Array.isArray(event)) throw new Error('it is a batch');
  return event as CloudEvent<EventBody>;
}
