// Who may do what through which listener: the socket is the capability, the second socket only reads, and loopback TCP takes a
// capability token and a loopback Host (design.md, section 3).
import type { IncomingMessage } from 'node:http';
import { gatewayOperations } from '../contract/local/gateway.ts';
import type { Operation } from '../contract/operation.ts';
import { readKeyParameter } from '../core/capability-query.ts';
import { RemoraError } from '../core/remora-error.ts';
import { readSubprotocolTokens } from '../core/subprotocols.ts';
import { isLoopback } from '../http/listen.ts';

export const doors = ['socket', 'readonly', 'loopback'] as const;
export type Door = (typeof doors)[number];

export interface Caller {
  readonly door: Door;
  /** When it aborts, calls and streams of this caller end with its reason. */
  readonly until?: AbortSignal;
}

/** What a capability token opens: one connector, or all of them, what is told about them, and the reading rows. */
export interface Capability {
  readonly connector_id?: string;
  readonly until: AbortSignal;
}

const { listGateway, listProviders, gatewayGuide } = gatewayOperations;
const discovery: ReadonlySet<Operation> = new Set([listGateway, listProviders, gatewayGuide]);
const readingTags = new Set(['status', 'ports', 'events', 'replication']);

export interface DoorOptions {
  readonly verifyToken: (token: string) => Capability | undefined;
  /** Told of a call of the gateway that is not let in. */
  readonly onRefused: (request: IncomingMessage, error: RemoraError) => void;
}

/** For the edge's `authenticate`. Throws `read_only`, `unauthorized` or `forbidden`. */
export function createDoorkeeper(options: DoorOptions) {
  return (request: IncomingMessage, row: Operation, door: string): Caller => {
    try {
      return admit(request, row, toDoor(door), options);
    } catch (error) {
      if (isCall(row) && error instanceof RemoraError) options.onRefused(request, error);
      throw error;
    }
  };
}

function admit(request: IncomingMessage, row: Operation, door: Door, options: DoorOptions): Caller {
  switch (door) {
    case 'socket':
      return { door };
    case 'readonly':
      if (!onlyReads(row)) throw new RemoraError('read_only', 'this socket only reads; use the main socket');
      return { door };
    case 'loopback':
      return { door, until: admitLoopback(request, row, options) };
  }
}

function isCall(row: Operation): boolean {
  return row.answer.kind === 'raw' && row.tag === 'gateway';
}

function admitLoopback(request: IncomingMessage, row: Operation, options: DoorOptions): AbortSignal {
  const host = (request.headers.host ?? '').replace(/:\d+$/, '');
  if (!isLoopback(host)) throw new RemoraError('forbidden', 'the Host of this listener must be a loopback address');
  const capability = findCapability(request, options);
  if (capability === undefined) {
    throw new RemoraError(
      'unauthorized',
      'this listener needs a capability token; POST /v1/gateway/tokens on the socket makes one',
    );
  }
  if (
    isCall(row) &&
    (capability.connector_id === undefined || connectorOf(request.url ?? '') === capability.connector_id)
  )
    return capability.until;
  if (capability.connector_id === undefined && (onlyReads(row) || discovery.has(row))) return capability.until;
  throw new RemoraError('forbidden', 'this token does not open that; it was made for something else');
}

/** Where SDKs of providers put what they believe is an API key. None of these headers goes further than the gateway. */
const keyHeaders = ['x-api-key', 'x-goog-api-key', 'api-key'] as const;

/** Of the first good token, because some callers send another credential beside it. */
function findCapability(request: IncomingMessage, options: DoorOptions): Capability | undefined {
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

/** The fourth segment, unread: `/v1/gateway/{provider}/{connector_id}/…`. */
function connectorOf(target: string): string | undefined {
  return target.split(/[/?]/, 6)[4];
}

function onlyReads(row: Operation): boolean {
  return row.method === 'GET' && readingTags.has(row.tag);
}

function toDoor(door: string): Door {
  const known = doors.find((name) => name === door);
  if (known === undefined) throw new Error(`there is no door ${door}`);
  return known;
}
