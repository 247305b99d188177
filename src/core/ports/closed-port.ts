// Reads a line that `ss -HEtn` prints when the kernel frees a TCP socket. Pure.

const FREED = /^UNCONN +\d+ +\d+ +\S*:(\d{1,5}) +\S*:\*/;

/** The port of a socket that had no peer, such as a listener; undefined for a line about anything else. */
export function parseClosedPort(line: string): number | undefined {
  const port = FREED.exec(line)?.[1];
  return port === undefined ? undefined : Number(port);
}
