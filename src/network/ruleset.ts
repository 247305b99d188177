// The rules of the kernel that hold while a sprite has a network policy. Pure.
import { isIPv6 } from 'node:net';

export const TABLE = 'inet remora_network';
/** The largest generation: it is written into twelve bits of the mark of a connection. The others are left to whom they belong. */
export const LAST_GENERATION = 4_095;
const GENERATION_SHIFT = 20;
const GENERATION_MASK = '0xfff00000';
const OTHER_BITS = '0x000fffff';
/** How many addresses are open at once; a name beyond that is answered, and its addresses are refused. */
export const OPEN_MAX = 65_536;
/** How many refused destinations are kept, and for how long. */
const REFUSED_MAX = 256;
export const REFUSED_S = 600;

const PORT_SIGN = ' . ';

/** A network or an address, and the only TCP port of it that is meant. */
export interface Exemption {
  /** `10.77.0.1`, `10.0.0.0/8`, `fd00::/8`. */
  readonly network: string;
  readonly port?: number | undefined;
}

/** An address, or one TCP port of it, in the words of the kernel: `10.77.0.1` and `10.77.0.1 . 443`. */
export type Destination = string;

export function toDestination(address: string, port?: number): Destination {
  return port === undefined ? address : `${address}${PORT_SIGN}${port}`;
}

export function toAddress(destination: Destination): string {
  const [address = ''] = destination.split(PORT_SIGN);
  return address;
}

export interface OpenDestination {
  readonly destination: Destination;
  readonly ttl_s: number;
}

export interface RulesetFacts {
  /** Another number for each policy, from 1 on. A connection that was allowed carries it. */
  readonly generation: number;
  /** Whom the questions to name servers belong to that are not led back: the user of the resolver. */
  readonly uid: number;
  /** Where the resolver of this machine listens on loopback, UDP and TCP. */
  readonly dns_port: number;
  /** Whether the kernel keeps connections apart by zones. */
  readonly has_zones: boolean;
  /** The name servers that the resolver asks, at port 53. */
  readonly upstreams: readonly string[];
  /** What is open whatever the policy says: the platform, and what the operator names. */
  readonly exemptions: readonly Exemption[];
  /** Network interfaces that lead out of this machine; what is forwarded between others is its own. */
  readonly uplinks: readonly string[];
}

/**
 * The commands that put these rules in the place of those before, in one step. Addresses that are open, kept or refused stay as they are; where
 * the table is gone there are none.
 */
export function toRuleset(facts: RulesetFacts): string {
  const { generation, uid, dns_port, has_zones, uplinks } = facts;
  const mark = `0x${((generation << GENERATION_SHIFT) >>> 0).toString(16).padStart(8, '0')}`;
  const accept = `ct mark set ct mark & ${OTHER_BITS} | ${mark} accept`;
  const judged = [
    // Answers to callers from outside.
    'ct direction reply accept',
    ...both((ip) => `${isIn(ip, 'exempt')} accept`),
    ...both((ip) => `${isPortIn(ip, 'exempt_port')} accept`),
    `ct mark & ${GENERATION_MASK} == ${mark} accept`,
    ...both((ip) => `${isIn(ip, 'open')} ${accept}`),
    ...both((ip) => `${isPortIn(ip, 'open_port')} ${accept}`),
    ...both((ip) => `ct state established ${isIn(ip, 'kept')} ${accept}`),
    ...both((ip) => `ct state established ${isPortIn(ip, 'kept_port')} ${accept}`),
    'goto refuse',
  ];
  const chains = {
    // Where a question is led is decided for the first packet of a socket. In a zone of this port it is a first packet again.
    sockets: has_zones
      ? [
          `meta skuid ${uid} return`,
          `udp dport 53 ct original zone set ${dns_port}`,
          `tcp dport 53 ct original zone set ${dns_port}`,
        ]
      : [],
    names: [
      `meta skuid ${uid} return`,
      `udp dport 53 redirect to :${dns_port}`,
      `tcp dport 53 redirect to :${dns_port}`,
    ],
    output: [
      'ip daddr 127.0.0.0/8 accept',
      'ip6 daddr ::1 accept',
      'fib daddr type local accept',
      ...both((ip) => `meta skuid ${uid} ${isIn(ip, 'upstream')} meta l4proto { tcp, udp } th dport 53 accept`),
      'icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert, nd-router-solicit, mld2-listener-report } accept',
      ...judged,
    ],
    forward: [
      ...(uplinks.length === 0 ? [] : [`oifname != { ${uplinks.map((name) => `"${name}"`).join(', ')} } accept`]),
      ...judged,
    ],
    refuse: [
      ...both(
        (ip) =>
          `meta l4proto { tcp, udp } update @${toName('refused', ip)} { ${ip} daddr . meta l4proto . th dport . meta skuid }`,
      ),
      'meta l4proto tcp reject with tcp reset',
      'reject with icmpx type admin-prohibited',
    ],
  };
  const given = both((ip) => [
    ...toElements('exempt', ip, exemptOf(facts, ip)),
    ...toElements('exempt_port', ip, exemptPortsOf(facts, ip)),
    ...toElements('upstream', ip, ofFamily(facts.upstreams, ip)),
  ]);
  return toText([
    `add table ${TABLE}`,
    ...both((ip) =>
      Object.entries(setForms(ip)).map(([name, form]) => `add set ${TABLE} ${toName(name, ip)} { ${form} }`),
    ),
    ...Object.entries(hooks).map(([name, hook]) => `add chain ${TABLE} ${name} ${hook}`),
    ...Object.keys(chains).map((name) => `flush chain ${TABLE} ${name}`),
    ...given,
    ...Object.entries(chains).flatMap(([name, rules]) => rules.map((rule) => `add rule ${TABLE} ${name} ${rule}`)),
  ]);
}

/** The commands that take the rules away with all that they kept: nothing is restricted then. */
export const NO_RULESET = toText([`add table ${TABLE}`, `delete table ${TABLE}`]);

const hooks = {
  sockets: '{ type filter hook output priority raw; policy accept; }',
  names: '{ type nat hook output priority -100; policy accept; }',
  output: '{ type filter hook output priority filter; policy drop; }',
  forward: '{ type filter hook forward priority filter; policy accept; }',
  refuse: '',
};

function setForms(ip: Ip): Record<string, string> {
  const type = ip === 'ip' ? 'ipv4_addr' : 'ipv6_addr';
  return {
    open: `type ${type}; flags timeout; size ${OPEN_MAX};`,
    open_port: `type ${type} . inet_service; flags timeout; size ${OPEN_MAX};`,
    kept: `type ${type}; size ${OPEN_MAX};`,
    kept_port: `type ${type} . inet_service; size ${OPEN_MAX};`,
    exempt: `type ${type}; flags interval; auto-merge;`,
    exempt_port: `type ${type} . inet_service; flags interval;`,
    upstream: `type ${type};`,
    refused: `typeof ${ip} daddr . meta l4proto . th dport . meta skuid; flags dynamic,timeout; timeout ${REFUSED_S}s; size ${REFUSED_MAX}; counter;`,
  };
}

/** The commands after which no address is open or kept. The sets have to be there. */
export const FORGETTING = toText(
  both((ip) => ['open', 'open_port', 'kept', 'kept_port'].map((set) => `flush set ${TABLE} ${toName(set, ip)}`)),
);

/** The commands after which these are open for so long, counted from now, whether they were before or not. */
export function toOpening(all: readonly OpenDestination[]): string {
  return toText(
    bothForms((ip, form) => {
      const own = all.filter(({ destination }) => isOfForm(destination, ip, form));
      if (own.length === 0) return [];
      const elements = own.map(({ destination, ttl_s }) => `${destination} timeout ${ttl_s}s`).join(', ');
      const names = own.map(({ destination }) => destination).join(', ');
      const set = `${TABLE} ${toName(`open${form}`, ip)}`;
      // Kernels before 6.12 do not lengthen the time of an element that is there.
      return [
        `add element ${set} { ${elements} }`,
        `delete element ${set} { ${names} }`,
        `add element ${set} { ${elements} }`,
      ];
    }),
  );
}

/** The commands after which connections that are open to these go on with the next generation. */
export function toKeeping(all: readonly Destination[]): string {
  return toText(
    bothForms((ip, form) =>
      addElements(
        `kept${form}`,
        ip,
        all.filter((destination) => isOfForm(destination, ip, form)),
      ),
    ),
  );
}

/** The commands after which these are neither open nor kept. */
export function toClosing(all: readonly Destination[]): string {
  return toText(
    bothForms((ip, form) => {
      const own = all.filter((destination) => isOfForm(destination, ip, form));
      // What is added is there to be deleted: an element that has run out meanwhile is no error.
      return [`open${form}`, `kept${form}`].flatMap((set) => [
        ...addElements(set, ip, own),
        ...(own.length === 0 ? [] : [`delete element ${TABLE} ${toName(set, ip)} { ${own.join(', ')} }`]),
      ]);
    }),
  );
}

/** How the names of sets end: those of addresses, and those of ports of addresses. */
const forms = ['', '_port'] as const;

function bothForms(make: (ip: Ip, form: (typeof forms)[number]) => readonly string[]): string[] {
  return both((ip) => forms.flatMap((form) => make(ip, form)));
}

function isOfForm(destination: Destination, ip: Ip, form: (typeof forms)[number]): boolean {
  return isOfFamily(toAddress(destination), ip) && destination.includes(PORT_SIGN) === (form === '_port');
}

type Ip = 'ip' | 'ip6';

function both(make: (ip: Ip) => string | readonly string[]): string[] {
  return [...[make('ip')].flat(), ...[make('ip6')].flat()];
}

function toName(set: string, ip: Ip): string {
  return `${set}${ip === 'ip' ? 4 : 6}`;
}

function isIn(ip: Ip, set: string): string {
  return `${ip} daddr @${toName(set, ip)}`;
}

function isPortIn(ip: Ip, set: string): string {
  return `${ip} daddr . tcp dport @${toName(set, ip)}`;
}

function toText(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('');
}

/** The set has these elements and no other. */
function toElements(set: string, ip: Ip, elements: readonly string[]): string[] {
  return [`flush set ${TABLE} ${toName(set, ip)}`, ...addElements(set, ip, elements)];
}

function addElements(set: string, ip: Ip, elements: readonly string[]): string[] {
  if (elements.length === 0) return [];
  return [`add element ${TABLE} ${toName(set, ip)} { ${[...new Set(elements)].join(', ')} }`];
}

function ofFamily(networks: readonly string[], ip: Ip): string[] {
  return networks.filter((network) => isOfFamily(network, ip));
}

function isOfFamily(network: string, ip: Ip): boolean {
  const [address = ''] = network.split('/');
  return isIPv6(address) === (ip === 'ip6');
}

function exemptOf({ exemptions }: RulesetFacts, ip: Ip): string[] {
  const whole = exemptions.filter(({ port }) => port === undefined);
  return ofFamily(
    whole.map(({ network }) => network),
    ip,
  );
}

function exemptPortsOf({ exemptions }: RulesetFacts, ip: Ip): string[] {
  return exemptions.flatMap(({ network, port }) =>
    port !== undefined && isOfFamily(network, ip) ? [toDestination(network, port)] : [],
  );
}
