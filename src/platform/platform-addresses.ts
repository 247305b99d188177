// The addresses of a platform, which are known when it listens.

export interface PlatformAddresses {
  /** Where callers reach the platform, without a slash at the end; empty until it listens. */
  readonly url: () => string;
  /** Where the machines of this host reach it; empty until it listens. */
  readonly ownUrl: () => string;
  listening(host: string, port: number): void;
}

/** `publicUrl` is where callers reach the platform; the address of the listener when absent. */
export function createPlatformAddresses(publicUrl: string | undefined): PlatformAddresses {
  let ownUrl = '';
  return {
    url: () => (ownUrl === '' ? '' : (publicUrl ?? ownUrl)),
    ownUrl: () => ownUrl,
    listening(host, port) {
      ownUrl = toOwnUrl(host, port);
    },
  };
}

/** A platform that listens everywhere is reached on this machine through the loopback address. */
function toOwnUrl(host: string, port: number): string {
  const reachable = host === '0.0.0.0' || host === '' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}
