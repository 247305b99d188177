// Decides who may do what through which listener: each operation names the listeners at which it is served. A socket admits everybody
// who can open its file; loopback TCP asks for a capability token and a loopback Host.
import type { IncomingMessage } from 'node:http';
import { type ListenerName, listenerNames } from '../../contract/listeners.ts';
import { gatewayOperations } from '../../contract/local/gateway.ts';
import type { Operation } from '../../contract/operation.ts';
import { readKeyParameter } from '../../core/gateway/capability-text.ts';
import { readSubprotocolTokens } from '../../core/gateway/subprotocols.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { isLoopback } from '../../http/is-loopback.ts';
import { isServedAt } from '../../http/served-at.ts';

export interface Caller {
  readonly listener: ListenerName;
  /** Ends the calls and streams of this caller with its reason when it aborts. */
  readonly until?: AbortSignal;
}

/** What a capability token opens: the calls of one connector, or all that is served at the loopback listener. */
export interface Capability {
  readonly connector_id?: string;
  readonly until: AbortSignal;
}

export interface AuthenticatorOptions {
  readonly verifyToken: (token: string) => Capability | undefined;
  /** Called for each gateway call that is refused here. */
  readonly onRefused: (request: IncomingMessage, error: RemoraError) => void;
}

/** Creates the `authenticate` of the edge. It throws `read_only`, `unauthorized` or `forbidden`. */
export function createAuthenticator(options: AuthenticatorOptions) {
  return (request: IncomingMessage, operation: Operation, listener: string): Caller | Promise<Caller> => {
    try {
      return admit(request, operation, toListenerName(listener), options);
    } catch (error) {
      if (isCall(operation) && error instanceof RemoraError) options.onRefused(request, error);
      throw error;
    }
  };
}

function admit(
  request: IncomingMessage,
  operation: Operation,
  listener: ListenerName,
  options: AuthenticatorOptions,
): Caller {
  if (listener === 'loopback') return { listener, until: admitLoopback(request, operation, options) };
  if (isServedAt(operation, listener)) return { listener };
  if (listener === 'readonly') throw new RemoraError('read_only', 'this socket only reads; use the main socket');
  throw new RemoraError('forbidden', `this is not served at the listener ${listener}`);
}

/** A call of a provider through a connector: a token may be limited to one connector, and refused calls go to the audit log. */
function isCall(operation: Operation): boolean {
  return operation === gatewayOperations.gateway;
}

function admitLoopback(request: IncomingMessage, operation: Operation, options: AuthenticatorOptions): AbortSignal {
  const host = (request.headers.host ?? '').replace(/:\d+$/, '');
  if (!isLoopback(host)) throw new RemoraError('forbidden', 'the Host of this listener must be a loopback address');
  const capability = findCapability(request, options);
  if (capability === undefined) {
    throw new RemoraError(
      'unauthorized',
      'this listener needs a capability token; POST /v1/gateway/tokens on the socket makes one',
    );
  }
  if (isServedAt(operation, 'loopback') && opens(capability, request, operation)) return capability.until;
  throw new RemoraError('forbidden', 'this token does not open that; it was made for something else');
}

function opens({ connector_id }: Capability, request: IncomingMessage, operation: Operation): boolean {
  return connector_id === undefined || (isCall(operation) && connectorOf(request.url ?? '') === connector_id);
}

/** Headers in which SDKs of providers send what they take for an API key. The gateway forwards none of them. */
const keyHeaders = ['x-api-key', 'x-goog-api-key', 'api-key'] as const;

/** Takes the first token that is valid, because some callers send another credential beside it. */
function findCapability(request: IncomingMessage, options: AuthenticatorOptions): Capability | undefined {
  const { headers } = request;
  const carried = [
    /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1],
    ...keyHeaders.map((name) => headers[name]),
    readKeyParameter(request.url ?? ''),
    ...readSubprotocolTokens(headers['sec-websocket-protocol'] ?? ''),
  ];
  for (const token of carried) {
    const capability = typeof token === 'string' ? options.verifyToken(token) : undefined;
    if (capability !== undefined) return capability;
  }
  return undefined;
}

/** The fourth segment of `/v1/gateway/{provider}/{connector_id}/…`, not decoded. */
function connectorOf(target: string): string | undefined {
  return target.split(/[/?]/, 6)[4];
}

export function toListenerName(listener: string): ListenerName {
  const known = listenerNames.find((name) => name === listener);
  if (known === undefined) throw new Error(`there is no listener ${listener}`);
  return known;
}
