// One handler for everything that the platform asks of a provider (Extensions API, Provider endpoints).
import { COSTS_ANSWER_BYTES_MAX, COSTS_ITEMS_MAX, costsAnswer, costsRequest } from '../contract/extension-costs.ts';
import { signatureHeader } from '../contract/extension-webhooks.ts';
import { provisioningRequest } from '../contract/extensions.ts';
import { type Clock, systemClock } from '../core/clock.ts';
import { RemoraError } from '../core/remora-error.ts';
import type { Secret } from '../core/secret.ts';
import { toReceived, toResponse } from './adapters/web-shapes.ts';
import { checkReturned } from './check-returned.ts';
import type { ProviderFunctions } from './functions.ts';
import { CALL_LIMIT_MS, inTime } from './in-time.ts';
import { parseSent } from './parse-sent.ts';
import { emptyAnswer, errorAnswer, jsonAnswer, type ProviderAnswer } from './provider-answer.ts';
import { createProviderPaths } from './provider-paths.ts';
import { receiveEvent } from './receive-event.ts';
import { BODY_LIMIT_MS, type ReceivedRequest } from './received-request.ts';
import { createResourceCalls } from './resource-calls.ts';
import { findRoute, type Route } from './route.ts';
import { createSignOn, type SignOnSettings } from './sign-on/sign-on.ts';
import { createMemoryResources } from './store/memory-resources.ts';
import { createNonceBook, type NonceBook } from './store/nonce-book.ts';
import type { ResourceBook } from './store/resource-book.ts';
import { createRequestVerifier } from './verify-request.ts';

export interface ProviderOptions extends ProviderFunctions {
  /** The address under which the platform knows this provider, such as `https://kv.example/remora`. */
  readonly baseUrl: string;
  /** The shared secrets for provisioning requests, asked for each one; two while they are changed. */
  readonly provisioningSecrets: () => readonly Secret[];
  /** Needed by the function `signOn`. */
  readonly signOnSettings?: SignOnSettings;
  /** What outlives the process, such as `await openSqliteStore(…)`; memory when absent, which is for tests. */
  readonly store?: { readonly nonces: NonceBook; readonly resources: ResourceBook };
  /** Called with each error that the platform reads as a 500, for the provider's log. */
  readonly onError: (error: unknown) => void;
  readonly clock?: Clock;
  /** How long the platform waits for a function before it is told to ask again, in milliseconds. */
  readonly limit_ms?: number;
}

export interface ProviderHandler {
  /** Answers in the shapes of the web. Never rejects. */
  (request: Request): Promise<Response>;
  /** The same for other adapters. Never rejects. */
  serve(request: ReceivedRequest): Promise<ProviderAnswer>;
  /** Whether the handler has something at this path, so that a server can keep its own paths. */
  serves(target: string): boolean;
}

/** Throws a TypeError for options that cannot work. */
export function createProviderHandler(options: ProviderOptions): ProviderHandler {
  const { clock = systemClock, onError, signOn: signOnFunction, signOnSettings, limit_ms = CALL_LIMIT_MS } = options;
  const { nonces, resources } = options.store ?? { nonces: createNonceBook(), resources: createMemoryResources() };
  const paths = createProviderPaths(options.baseUrl);
  const verify = createRequestVerifier({
    secrets: options.provisioningSecrets,
    baseUrl: paths.baseUrl,
    nonces,
    clock,
  });
  const calls = createResourceCalls({
    functions: options,
    resources,
    clock,
    onLateError: onError,
    limit_ms,
  });
  if ((signOnFunction === undefined) !== (signOnSettings === undefined)) {
    throw new TypeError('signOn and signOnSettings go together');
  }
  const signOn =
    signOnFunction === undefined || signOnSettings === undefined
      ? undefined
      : createSignOn({
          settings: signOnSettings,
          signOn: signOnFunction,
          paths,
          nonces,
          resources,
          calls,
          clock,
          onError,
        });

  async function readSigned(request: ReceivedRequest, target: string): Promise<unknown> {
    const signature = request.header(signatureHeader);
    const { method } = request;
    const hasBody = method !== 'GET' && method !== 'DELETE';
    // Nobody has to send a body to be refused.
    const body = hasBody && signature !== undefined ? await request.readBody() : new Uint8Array();
    return await verify({ method, target, signature, body });
  }

  async function serveRoute({ id, extension_id }: Route, request: ReceivedRequest, target: string) {
    if (id === 'signOnExtension') return await orNotServed(signOn).begin(extension_id, request);
    const fields = await readSigned(request, target);
    switch (id) {
      case 'provisionExtension':
        return jsonAnswer(200, await calls.provision(toProvisioning(fields)));
      case 'updateExtension':
        return jsonAnswer(200, await calls.update(extension_id, toProvisioning(fields)));
      case 'readExtension':
        return jsonAnswer(200, await calls.read(extension_id));
      case 'deleteExtension':
        await calls.remove(extension_id);
        return emptyAnswer;
      case 'receiveMachineEvent':
        await receiveEvent(options, request, fields);
        return emptyAnswer;
      case 'readCosts': {
        const items = await orNotServed(options.costs)(parseSent(costsRequest, fields));
        return jsonAnswer(200, checkReturned('costs', bill, { items }, COSTS_ANSWER_BYTES_MAX));
      }
      default:
        return id satisfies never;
    }
  }

  async function serve(request: ReceivedRequest): Promise<ProviderAnswer> {
    try {
      if (signOn?.isCallback(request) === true) return await inTime(limit_ms, signOn.end(request), onError);
      const target = paths.toRelative(request.target);
      if (target === undefined) throw new RemoraError('not_found', 'nothing is served at this path');
      // The body has a limit of its own.
      return await inTime(
        limit_ms + BODY_LIMIT_MS,
        serveRoute(findRoute(request.method, target), request, target),
        onError,
      );
    } catch (error) {
      if (error instanceof RemoraError && error.code !== 'internal') return errorAnswer(error);
      onError(error);
      return errorAnswer(new RemoraError('internal', 'the provider has failed; its log has the cause'));
    }
  }

  const handler = async (request: Request) => toResponse(await serve(toReceived(request)));
  const serves = (target: string) => paths.isServed(target) || signOn?.isCallbackPath(target) === true;
  return Object.assign(handler, { serve, serves });
}

const bill = costsAnswer.extend({ items: costsAnswer.shape.items.max(COSTS_ITEMS_MAX) });

function toProvisioning(fields: unknown) {
  const { url: _url, nonce: _nonce, timestamp: _timestamp, ...request } = parseSent(provisioningRequest, fields);
  return request;
}

function orNotServed<T>(part: T | undefined): T {
  if (part !== undefined) return part;
  throw new RemoraError('not_implemented', 'this provider does not serve this');
}
