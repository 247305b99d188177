// Where the streaming proxy sends an exchange, and within which limits.
import type { Dispatcher } from 'undici';
import type { CutSignal } from './cut-signal.ts';
import type { HeaderPolicy } from './header-policy.ts';
import type { TunnelObserver } from './tunnel.ts';
import type { Upgrade } from './upgrade.ts';
import type { UpstreamKind } from './upstream-error.ts';

/** A model that thinks before its first byte may take minutes; ten is what the clients of the large providers wait. */
export const HEADERS_TIMEOUT_MS = 600_000;
export const BODY_CAP_BYTES = 32 * 1024 * 1024;

export interface ExchangeUpstream {
  /** Asked once for each try, so that each try takes the present pool. */
  readonly dispatcher: () => Pick<Dispatcher, 'dispatch'>;
  readonly origin: string;
  /** Path and query, sent byte for byte. */
  readonly path: string;
  readonly headers: HeaderPolicy;
  /** Called before the second try, whose headers are its result: the machine may have been resumed since the first. Throws as the first try does. */
  readonly headersOfSecondTry?: () => Promise<HeaderPolicy>;
  /** The kind of upstream, as messages name it. */
  readonly from: UpstreamKind;
  /** Cuts the exchange. Before the answer has begun the reason is thrown, if it is a RemoraError. */
  readonly signal?: CutSignal;
  /** The deadline of the status line; default ten minutes. */
  readonly headersTimeout_ms?: number;
  /** The longest pause within an answer that has begun; default 0 = no limit. The duration of a body has no limit. */
  readonly idleTimeout_ms?: number;
  /** Asks the upstream for a WebSocket; any answer but 101 reaches the caller like other answers. */
  readonly tunnel?: ExchangeTunnel | undefined;
  /** What is sent in place of the caller's body, which was read before. The headers must fit. */
  readonly body?: Buffer;
  /** Default 32 MiB. */
  readonly bodyCap_bytes?: number;
  /** Asks servers between this one and the caller not to hold a stream back, see `askNotToHold`. */
  readonly asksNotToHold?: true;
  /** Runs before work is done on bytes of the upstream. */
  readonly onTurn?: (() => void) | undefined;
  /** How long the caller may send nothing while its body is incomplete; default a minute. */
  readonly bodyIdle_ms?: number;
  /** Gets the flat headers of the answer. Its result gets the body as it arrives, and must neither keep nor change it. */
  readonly observe?: (headers: readonly string[]) => ((chunk: Uint8Array) => void) | undefined;
}

export interface ExchangeTunnel {
  readonly upgrade: Upgrade;
  /** The caller's key, as `findHandshakeKey` returns it. */
  readonly key: string;
  /** How long a tunnel may be without a byte either way; default ten minutes, 0 = no limit. */
  readonly idle_ms?: number;
  readonly observer?: TunnelObserver;
}
