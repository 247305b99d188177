// Reads the handshake of a caller and makes what the exchange needs to pass it on.
import type { IncomingMessage } from 'node:http';
import { RemoraError } from '../core/remora-error.ts';
import { findHandshakeKey } from '../core/websocket/websocket-handshake.ts';
import type { ExchangeTunnel } from './exchange-upstream.ts';
import type { Upgrade } from './upgrade.ts';

/** Undefined for a plain call. Throws `invalid_request` for a handshake that no server could accept. */
export function toTunnel(
  request: IncomingMessage,
  upgrade: Upgrade | undefined,
  idle_ms: number,
): ExchangeTunnel | undefined {
  if (upgrade === undefined) return undefined;
  const key = findHandshakeKey(request.rawHeaders);
  if (key !== undefined) return { upgrade, key, idle_ms };
  throw new RemoraError('invalid_request', 'a WebSocket needs one Sec-WebSocket-Key and Sec-WebSocket-Version 13');
}
