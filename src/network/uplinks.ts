// The network interfaces that lead out of this machine, by the routes of the kernel: those of its default routes.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const NO_ADDRESS = /^0+$/;
/** The interface of the route in /proc/net/ipv6_route that stands for "nowhere": the loopback. */
const NOWHERE = 'lo';

/** Pure. `route` is /proc/net/route, `route6` /proc/net/ipv6_route. */
export function parseUplinks(route: string, route6: string): string[] {
  const of4 = rows(route).flatMap(([name = '', destination = 'x', , , , , , mask = 'x']) =>
    NO_ADDRESS.test(destination) && NO_ADDRESS.test(mask) ? [name] : [],
  );
  const of6 = rows(route6).flatMap(([destination = 'x', length = 'x', , , , , , , , name = '']) =>
    NO_ADDRESS.test(destination) && NO_ADDRESS.test(length) && name !== NOWHERE ? [name] : [],
  );
  return [...new Set([...of4, ...of6])];
}

export function readUplinks(procRoot = '/proc'): string[] {
  return parseUplinks(read(join(procRoot, 'net', 'route')), read(join(procRoot, 'net', 'ipv6_route')));
}

function rows(text: string): string[][] {
  return text.split('\n').map((line) => line.trim().split(/\s+/));
}

/** A kernel without IPv6 has no such table. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
