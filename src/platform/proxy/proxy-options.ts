// What the proxy in front is opened with.
import type { TcpAddress } from './tcp-services.ts';
import type { TlsFiles } from './tls-files.ts';
import type { Cidr } from './trusted-peers.ts';

export interface ProxyOptions {
  /** Port 0 takes a free one; so does one that is taken, where `mayMove` says so. */
  readonly listen: { readonly host: string; readonly port: number; readonly mayMove?: boolean };
  /** The domain below which names are served; `localhost` when absent. */
  readonly domain?: string;
  /** The networks of what stands before it: who calls is what these say. */
  readonly trust?: readonly Cidr[];
  /** These begin each connection with a header of the PROXY protocol, and nobody else may connect. */
  readonly proxyProtocol?: boolean;
  /** It speaks TLS with this certificate; plain HTTP when absent. */
  readonly tls?: TlsFiles;
  /** Where the TCP services of apps are reached; those of other apps are not. */
  readonly tcp?: readonly TcpAddress[];
  /** The share of requests of which a line is logged, 0 to 1; none when absent. */
  readonly logShare?: number;
  /** Where browsers reach it, when something else stands before it; the scheme and the port of the listener when absent. */
  readonly origin?: { readonly protocol: 'http:' | 'https:'; readonly port: number };
}

export const DEFAULT_PROXY_DOMAIN = 'localhost';
