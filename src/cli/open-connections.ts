// The connections of a command: to one socket, or to the host of each call. The answers have all the time that the command gives them.
import { createDial } from '../http/dial.ts';
import { type Outbound, openOutbound } from '../http/outbound.ts';

const CONNECT_MS = 10_000;
const IDLE_MS = 4_000;

export interface CommandConnections extends AsyncDisposable {
  readonly request: Outbound['request'];
}

export function openConnections(socketPath?: string): CommandConnections {
  const outbound = openOutbound({
    dial: (reads) => createDial({ socketPath, timeout_ms: CONNECT_MS, ...reads }),
    headers_ms: 0,
    idle_ms: IDLE_MS,
  });
  return {
    request: outbound.request,
    [Symbol.asyncDispose]: () => outbound.destroy(new Error('the command has ended')),
  };
}
