// What the streaming proxy is told of one gateway call: where it goes, within which limits, and what is read from its answer. A class, and
// no object of functions, because there is one for each call.
import type { GatewayHeaders } from '../../core/gateway/gateway-headers.ts';
import { createUsageReader, type UsageReader } from '../../core/gateway/token-usage.ts';
import { BODY_IDLE_MS } from '../../http/caller-body.ts';
import type { ExchangeTunnel, ExchangeUpstream } from '../../http/exchange-upstream.ts';
import type { Upstream } from '../upstream.ts';
import type { GatewayConfig } from './gateway-options.ts';
import type { OpenCall } from './open-calls.ts';

/** Added to the platform's own time limit, so that the platform answers first: its error knows more. */
const PLATFORM_GRACE_MS = 10_000;

/** What all calls have in common. */
export interface PlatformHop {
  readonly origin: string;
  readonly upstream: Upstream;
  readonly settings: Pick<GatewayConfig, 'bodyCap_bytes' | 'bodyIdle_ms' | 'headersTimeout_ms' | 'idleTimeout_ms'>;
  readonly onTurn: (() => void) | undefined;
  readonly presentHeaders: () => GatewayHeaders;
  /** Waits while the machine is being suspended or resumed; undefined when nobody has to wait. */
  readonly gate: () => Promise<void> | undefined;
}

export class PlatformExchange implements ExchangeUpstream {
  readonly path: string;
  readonly headers: GatewayHeaders;
  readonly signal: OpenCall;
  readonly onTurn: (() => void) | undefined;
  readonly tunnel?: ExchangeTunnel;
  /** Counts the tokens of the answer. */
  usage: UsageReader | undefined;
  readonly #hop: PlatformHop;

  constructor(hop: PlatformHop, path: string, signal: OpenCall, tunnel: ExchangeTunnel | undefined) {
    this.#hop = hop;
    this.path = path;
    this.headers = hop.presentHeaders();
    this.signal = signal;
    this.onTurn = hop.onTurn;
    if (tunnel !== undefined) this.tunnel = tunnel;
  }

  get from(): 'platform' {
    return 'platform';
  }

  get origin(): string {
    return this.#hop.origin;
  }

  get headersTimeout_ms(): number {
    return this.#hop.settings.headersTimeout_ms + PLATFORM_GRACE_MS;
  }

  get idleTimeout_ms(): number {
    return this.#hop.settings.idleTimeout_ms;
  }

  get bodyCap_bytes(): number {
    return this.#hop.settings.bodyCap_bytes;
  }

  get bodyIdle_ms(): number {
    return this.#hop.settings.bodyIdle_ms ?? BODY_IDLE_MS;
  }

  dispatcher(): Upstream['calls'] {
    return this.#hop.upstream.calls;
  }

  async headersOfSecondTry(): Promise<GatewayHeaders> {
    await this.#hop.gate();
    return this.#hop.presentHeaders();
  }

  observe(headers: readonly string[]): UsageReader['push'] | undefined {
    this.usage = createUsageReader(headers);
    return this.usage?.push;
  }
}
