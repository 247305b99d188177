// The rules of `header-hygiene.ts` for one credential: which headers are added to a request, and which answers would show it. One
// instance serves one call, or all calls that go out with the same credential. Pure.
import type { AnswerGuard } from './answer-guard.ts';
import { toCallerHeaders, toFoldedNames, toUpstreamHeaders } from './header-hygiene.ts';

export interface GatewayHeadersOptions {
  /** Decides whose error marker counts: only the platform may set it. */
  readonly from: 'provider' | 'platform';
  /** Flat; added to the headers of every request. */
  readonly injected: readonly string[];
  /** Keeps the credential that goes out with the request out of the head and the trailers of the answer. */
  readonly guard: AnswerGuard;
}

/** A class, and no object of functions, because a gateway makes one for each call. */
export class GatewayHeaders {
  readonly #options: GatewayHeadersOptions;
  readonly #taken: ReadonlySet<string>;

  constructor(options: GatewayHeadersOptions) {
    this.#options = options;
    this.#taken = toFoldedNames(options.injected);
  }

  /** See `toUpstreamHeaders`. */
  request(headers: readonly string[]): string[] {
    return toUpstreamHeaders(headers, this.#options.injected, this.#taken);
  }

  /** See `toCallerHeaders`. */
  response(headers: readonly string[]): string[] {
    return toCallerHeaders(headers, this.#options.from, this.#options.guard);
  }

  mayShow(phrase: string): boolean {
    return !this.#options.guard.holds(phrase);
  }
}
