// The moment of the switch: the upstream has answered 101. The answer is checked and passed to the caller; then both
// connections become one tunnel.
import type { Duplex } from 'node:stream';
import { RemoraError } from '../core/remora-error.ts';
import { isAccepted } from '../core/websocket/websocket-handshake.ts';
import type { CutSignal } from './cut-signal.ts';
import type { HeaderPolicy } from './header-policy.ts';
import { runTunnel, type TunnelObserver, type TunnelOutcome } from './tunnel.ts';
import type { Upgrade } from './upgrade.ts';
import type { UpstreamKind } from './upstream-error.ts';

export interface Switch {
  readonly upgrade: Upgrade;
  /** The key of the caller's handshake. */
  readonly key: string;
  readonly upstream: Duplex;
  /** The headers of the 101, flat. */
  readonly headers: readonly string[];
  readonly policy: HeaderPolicy;
  readonly from: UpstreamKind;
  readonly signal: CutSignal | undefined;
  readonly idle_ms: number;
  readonly observer?: TunnelObserver | undefined;
}

/** Throws `upstream_failed` for a 101 that does not answer this handshake; the caller has received nothing then. */
export function switchToTunnel(options: Switch): Promise<TunnelOutcome> {
  const { upgrade, upstream, headers, signal, idle_ms, observer } = options;
  if (!isAccepted(headers, options.key)) {
    upstream.on('error', () => undefined).destroy();
    throw new RemoraError('upstream_failed', `the ${options.from} answered the handshake with one that is not its own`);
  }
  const early = upgrade.accept(options.policy.response(headers));
  const signals = signal === undefined ? [upgrade.stopping] : [upgrade.stopping, signal];
  return runTunnel({ caller: upgrade.socket, early, upstream, signals, idle_ms, observer });
}
