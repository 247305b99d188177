// Who may read `/metrics` and on which listener: on the main one while it listens on loopback only, or on a listener of its own where
// one is configured; with a token where one is configured.
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, Server } from 'node:http';
import type { PlatformListenerName } from '../../contract/listeners.ts';
import type { Operation } from '../../contract/operation.ts';
import { platformOperations } from '../../contract/platform-operations.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Secret } from '../../core/secret.ts';
import { isLoopback } from '../../http/is-loopback.ts';
import { listenOnTcp } from '../../http/listen-on-tcp.ts';
import { isServedAt } from '../../http/served-at.ts';

export interface MetricsAccess {
  /** A listener for `/metrics` alone; the main one then does not serve it. Port 0 takes a free one. */
  readonly listen?: { readonly host: string; readonly port: number };
  /** Required as `Authorization: Bearer`, on every listener. A function is asked at each call. */
  readonly token?: Secret | (() => Secret | undefined);
}

export interface MetricsListener {
  /** The edge calls it before anything else. Throws `not_found`, `unauthorized` or `forbidden`. */
  check(request: IncomingMessage, row: Operation, listener: string): void;
  /** Opens the listener, if there is one. Resolves with its port. */
  open(createServer: (listener: string) => Server): Promise<number | undefined>;
}

const METRICS_LISTENER = 'metrics' satisfies PlatformListenerName;
/** The main listener. */
const MAIN_LISTENER = 'tcp' satisfies PlatformListenerName;

export function createMetricsListener({ listen, token }: MetricsAccess, mainHost: string): MetricsListener {
  const expected = () => {
    const present = typeof token === 'function' ? token() : token;
    return present === undefined ? undefined : toDigest(`Bearer ${present.reveal()}`);
  };
  return {
    check(request, row, listener) {
      const isMetrics = row === platformOperations.metrics;
      if (listener === METRICS_LISTENER && !isServedAt(row, METRICS_LISTENER)) {
        throw new RemoraError('not_found', 'this listener has the figures of the platform and nothing else');
      }
      if (!isMetrics || (listener !== METRICS_LISTENER && listener !== MAIN_LISTENER)) return;
      if (listener === MAIN_LISTENER && listen !== undefined) {
        throw new RemoraError('not_found', 'the figures have a listener of their own; see --metrics-listen');
      }
      const digest = expected();
      if (digest !== undefined) {
        if (timingSafeEqual(toDigest(request.headers.authorization ?? ''), digest)) return;
        throw new RemoraError('unauthorized', 'send Authorization: Bearer and the token of --metrics-token-file');
      }
      if (listener === METRICS_LISTENER || isLoopback(mainHost)) return;
      throw new RemoraError(
        'forbidden',
        'this listener is open to other machines; start with --metrics-token-file, or give the figures a listener with --metrics-listen',
      );
    },
    async open(createServer) {
      if (listen === undefined) return undefined;
      return (await listenOnTcp(createServer(METRICS_LISTENER), listen.host, listen.port)).port;
    },
  };
}

function toDigest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
