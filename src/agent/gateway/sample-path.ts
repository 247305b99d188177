// Reads the path out of one of the platform's command lines: what follows the connector's address. Pure.

/** Undefined when the line does not have the address, or no plain path follows it. */
export function parseSamplePath(line: string, address: string): string | undefined {
  const at = line.indexOf(address);
  const [path] = /^\/[\w./~-]*/.exec(at < 0 ? '' : line.slice(at + address.length)) ?? [];
  return path;
}
