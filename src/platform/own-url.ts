// The URL of a listener on its own machine. Pure.

/** A platform that listens everywhere is reached on this machine through the loopback address. */
export function toOwnUrl(host: string, port: number): string {
  const reachable = host === '0.0.0.0' || host === '' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}
