// Opens the listeners of a platform: the one that callers use, the one of the metrics, and the socket of the operator.
import type { Edge } from '../http/edge.ts';
import { listenOnTcp } from '../http/listen-on-tcp.ts';
import type { MetricsListener } from './observability/metrics-listener.ts';
import { listenForOperator, OPERATOR_LISTENER } from './operator/operator-socket.ts';
import type { PlatformAddresses } from './platform-addresses.ts';
import type { PlatformOptions } from './platform-options.ts';

export interface OpenListenersDeps {
  readonly options: Pick<PlatformOptions, 'dir' | 'listen' | 'metrics' | 'log'>;
  readonly edge: Pick<Edge, 'createServer'>;
  readonly metricsListener: Pick<MetricsListener, 'open'>;
  readonly addresses: Pick<PlatformAddresses, 'listening'>;
}

/** Resolves when all listen. What it returns closes the socket of the operator; `drain` of the edge closes all three. */
export async function openListeners(deps: OpenListenersDeps): Promise<Disposable> {
  const { options, edge } = deps;
  const { dir, listen, log } = options;
  const server = edge.createServer('tcp');
  const address = await listenOnTcp(server, listen.host, listen.port);
  deps.addresses.listening(listen.host, address.port);
  const metricsPort = await deps.metricsListener.open((listener) => edge.createServer(listener));
  if (metricsPort !== undefined) log.info({ host: options.metrics?.listen?.host, port: metricsPort }, 'metrics');
  return await listenForOperator(edge.createServer(OPERATOR_LISTENER), dir, log);
}
