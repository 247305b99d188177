// One call of a plain client: what is sent, and who hears of the answer.
import type { Dispatcher } from 'undici';
import type { PlainRequest } from './plain-request.ts';

/** What carries a call out. */
export interface CallCarrier {
  pause(): void;
  resume(): void;
  /** Closes the connection. */
  drop(): void;
}

export interface CallLimits {
  /** How long the head of the answer may take; 0 = no limit. */
  readonly headersTimeout_ms: number;
  /** How long a pause within the body may take; 0 = no limit. */
  readonly bodyTimeout_ms: number;
}

export class PlainCall implements Dispatcher.DispatchController {
  /** What the options of the call said. */
  readonly origin: Dispatcher.DispatchOptions['origin'];
  readonly path: string;
  readonly request: PlainRequest;
  readonly handler: Dispatcher.DispatchHandler;
  readonly limits: CallLimits;
  /** Set from the sending to the end of the call. */
  carrier: CallCarrier | undefined;
  rawHeaders: string[] = [];
  rawTrailers: string[] = [];
  /** Those who watch the calls of this process hear of it. */
  isWatched = false;
  paused = false;
  aborted = false;
  reason: Error | null = null;

  constructor(
    { origin, path }: Pick<Dispatcher.DispatchOptions, 'origin' | 'path'>,
    request: PlainRequest,
    handler: Dispatcher.DispatchHandler,
    limits: CallLimits,
  ) {
    this.origin = origin;
    this.path = path;
    this.request = request;
    this.handler = handler;
    this.limits = limits;
  }

  pause(): void {
    if (this.paused) return;
    this.paused = true;
    this.carrier?.pause();
  }

  resume(): void {
    if (!this.paused) return;
    this.paused = false;
    this.carrier?.resume();
  }

  abort(reason: Error): void {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    const { carrier } = this;
    if (carrier === undefined) return;
    this.carrier = undefined;
    carrier.drop();
    this.handler.onResponseError?.(this, reason);
  }

  /** The handler may end the call in it, and what it throws does; the carrier is not used then. Returns whether the call goes on. */
  begin(carrier: CallCarrier): boolean {
    this.#tell(() => this.handler.onRequestStart?.(this, undefined));
    if (this.reason !== null) this.handler.onResponseError?.(this, this.reason);
    else this.carrier = carrier;
    return !this.aborted;
  }

  onHead(status: number, headers: string[], phrase: string): void {
    this.rawHeaders = headers;
    this.#tell(() => this.handler.onResponseStart?.(this, status, {}, phrase));
  }

  onData(bytes: Buffer): void {
    this.#tell(() => this.handler.onResponseData?.(this, bytes));
  }

  end(trailers: string[]): void {
    this.rawTrailers = trailers;
    try {
      this.handler.onResponseEnd?.(this, {});
    } catch (error) {
      this.handler.onResponseError?.(this, error as Error);
    }
  }

  /** Nothing of it goes on. */
  fail(error: Error): void {
    this.carrier = undefined;
    if (this.aborted) return;
    this.aborted = true;
    this.reason = error;
    this.handler.onResponseError?.(this, error);
  }

  #tell(how: () => void): void {
    try {
      how();
    } catch (error) {
      this.abort(error as Error);
    }
  }
}
