// The names and addresses of a machine's way out: a tap in the network namespace of its emulator, and a pair of virtual cables from there to
// the host. Pure.
import { createHash } from 'node:crypto';

export const TAP = 'tap0';
/** A fixed address of the tap: the machine remembers it through a suspend. */
export const TAP_MAC = '52:54:00:77:00:01';
/** The address at which a machine finds the way to private addresses. */
export const TAP_ADDRESS = 'fe80::1';
/** The machine's end of the cable. */
export const UPLINK = 'uplink';
/** The host's ends of all cables, of every platform of this host. */
export const CABLES = 'rm';

/** A part of the range for addresses between a provider and its customers, which no machine is let reach: 65,536 pairs. */
const FIRST_LINK = (100 << 24) | (126 << 16);
const LINKS = 65_536;
export const LINK_RANGE = '100.126.0.0/15';

const SCOPE_CHARACTERS = 4;
const MACHINE_CHARACTERS = 8;

/** What tells the cables and rules of one platform, whose machines are in `dir`, from those of another on the same host. */
export function toScope(dir: string): string {
  return `${CABLES}${hash(dir).slice(0, SCOPE_CHARACTERS)}`;
}

/** The name of the host's end of a machine's cable: a name of an interface has at most 15 characters. */
export function toCableName(scope: string, machine_id: string): string {
  return `${scope}${hash(machine_id).slice(0, MACHINE_CHARACTERS)}`;
}

export interface Link {
  readonly host: string;
  readonly machine: string;
}

/** The pair of addresses of a cable that no interface of the host has, and usually the same one. Undefined when all are taken. */
export function chooseLink(cable: string, taken: ReadonlySet<string>): Link | undefined {
  const first = Number.parseInt(hash(cable).slice(0, SCOPE_CHARACTERS), 16) % LINKS;
  for (let step = 0; step < LINKS; step += 1) {
    const link = toLink((first + step) % LINKS);
    if (!taken.has(link.host)) return link;
  }
  return undefined;
}

function toLink(index: number): Link {
  const host = FIRST_LINK + 2 * index;
  return { host: toAddress(host), machine: toAddress(host + 1) };
}

function toAddress(value: number): string {
  return [24, 16, 8, 0].map((bits) => (value >>> bits) & 0xff).join('.');
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
