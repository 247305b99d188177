// How many informational answers (1xx) an upstream may send before its answer: each costs a gateway more than its sender.

import { RemoraError } from '../core/remora-error.ts';
import type { UpstreamKind } from './upstream-error.ts';

const INFORMATIONAL_MAX = 16;
const INFORMATIONAL_CAP_BYTES = 64 * 1024;

export class InformationalLimit {
  readonly #from: UpstreamKind;
  #count = 0;
  #bytes = 0;

  constructor(from: UpstreamKind) {
    this.#from = from;
  }

  /** Counts one informational answer by its headers, flat; returns `upstream_failed` for one too many. */
  take(headers: readonly string[]): RemoraError | undefined {
    this.#count += 1;
    for (const text of headers) this.#bytes += text.length;
    if (this.#count <= INFORMATIONAL_MAX && this.#bytes <= INFORMATIONAL_CAP_BYTES) return undefined;
    const most = `more than ${INFORMATIONAL_MAX} informational answers, or more than ${INFORMATIONAL_CAP_BYTES} bytes of them`;
    return new RemoraError('upstream_failed', `the ${this.#from} sent ${most}`);
  }
}
