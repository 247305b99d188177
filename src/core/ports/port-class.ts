// What kind of listener a port is, and whether others are told of it. Pure.
import type { OpenPort } from './port-table.ts';

/**
 * `app`: of a program that runs on this machine. `system`: of the machine's own services. `own`: of the agent. `ignored`: named
 * in the settings.
 */
export type PortClass = 'app' | 'system' | 'own' | 'ignored';

/** What the settings leave out. */
export interface IgnoredPorts {
  /** First and last port of each range. */
  readonly ranges: readonly (readonly [first: number, last: number])[];
  /** Every listener of the class `system`. */
  readonly system: boolean;
}

export const IGNORE_NONE: IgnoredPorts = { ranges: [], system: false };

/** Services that a machine brings along: who asks for the ports of an application does not mean them. */
const SYSTEM_COMMANDS =
  /^(?:systemd(?:-[\w-]+)?|init|sshd(?:-[\w-]+)?|dropbear|rpcbind|rpc\.[\w.-]+|chronyd|ntpd|dhclient|dhcpcd|dnsmasq|cupsd|exim4)(?=[\s:]|$)/;

/** Of a listener that is not the agent's. One whose process cannot be seen is an `app`. */
export function toPortClass(open: OpenPort, ignore: IgnoredPorts): Exclude<PortClass, 'own'> {
  if (ignore.ranges.some(([first, last]) => first <= open.port && open.port <= last)) return 'ignored';
  if (!SYSTEM_COMMANDS.test(open.command ?? '')) return 'app';
  return ignore.system ? 'ignored' : 'system';
}

/** Ports, ranges and the word `system`, such as `22`, `9000-9010`. Undefined when one is none of these. */
export function parseIgnoredPorts(words: readonly string[]): IgnoredPorts | undefined {
  const ranges: (readonly [number, number])[] = [];
  for (const word of words) {
    if (word === 'system') continue;
    const [, from = '', to = from] = /^(\d{1,5})(?: ?- ?(\d{1,5}))?$/.exec(word) ?? [];
    const [first, last] = [Number(from), Number(to)];
    if (first < 1 || last > 65_535 || first > last) return undefined;
    ranges.push([first, last]);
  }
  return { ranges, system: words.includes('system') };
}
