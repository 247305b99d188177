// What kind of listener a port is, and whether it is announced. Pure.
import type { OpenPort } from './port-table.ts';

/**
 * `app`: a program that runs on this machine. `system`: one of the machine's own services. `own`: the agent. `ignored`: the
 * settings name the port.
 */
export type PortClass = 'app' | 'system' | 'own' | 'ignored';

/** The ports that the settings leave out. */
export interface IgnoredPorts {
  /** First and last port of each range. */
  readonly ranges: readonly (readonly [first: number, last: number])[];
  /** Whether every listener of the class `system` is left out. */
  readonly system: boolean;
}

export const IGNORE_NONE: IgnoredPorts = { ranges: [], system: false };

/** Services that come with a machine: who asks for the ports of an application does not mean these. */
const SYSTEM_COMMANDS =
  /^(?:systemd(?:-[\w-]+)?|init|sshd(?:-[\w-]+)?|dropbear|rpcbind|rpc\.[\w.-]+|chronyd|ntpd|dhclient|dhcpcd|dnsmasq|cupsd|exim4)(?=[\s:]|$)/;

/** The class of a listener that is not the agent's. One whose process cannot be seen is an `app`. */
export function toPortClass(open: OpenPort, ignore: IgnoredPorts): Exclude<PortClass, 'own'> {
  if (ignore.ranges.some(([first, last]) => first <= open.port && open.port <= last)) return 'ignored';
  if (!SYSTEM_COMMANDS.test(open.command ?? '')) return 'app';
  return ignore.system ? 'ignored' : 'system';
}

/** Parses ports, ranges and the word `system`, such as `22`, `9000-9010`. Undefined when a word is none of these. */
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
