// The moment of the switch: the upstream has said 101, so it is checked, told to the caller as it was said, and from then on both
// connections are one tunnel.
import type { Duplex } from 'node:stream';
import { toCallerHeaders } from '../core/header-hygiene.ts';
import { RemoraError } from '../core/remora-error.ts';
import { isAccepted } from '../core/websocket-handshake.ts';
import { runTunnel, type TunnelOutcome } from './tunnel.ts';
import type { Upgrade } from './upgrade.ts';

export interface Switch {
  readonly upgrade: Upgrade;
  /** Of the caller's handshake. */
  readonly key: string;
  readonly upstream: Duplex;
  /** Of the 101, flat. */
  readonly headers: readonly string[];
  readonly from: 'provider' | 'platform';
  readonly signal: AbortSignal | undefined;
  readonly idle_ms: number;
}

/** Throws `upstream_failed` for a 101 that does not answer this handshake; the caller has got nothing then. */
export function switchToTunnel(options: Switch): Promise<TunnelOutcome> {
  const { upgrade, upstream, headers, signal } = options;
  if (!isAccepted(headers, options.key)) {
    upstream.on('error', () => undefined).destroy();
    throw new RemoraError('upstream_failed', `the ${options.from} answered the handshake with one that is not its own`);
  }
  const early = upgrade.accept(toCallerHeaders(headers, options.from));
  const signals = signal === undefined ? [upgrade.stopping] : [upgrade.stopping, signal];
  return runTunnel({ caller: upgrade.socket, early, upstream, signals, idle_ms: options.idle_ms });
}
