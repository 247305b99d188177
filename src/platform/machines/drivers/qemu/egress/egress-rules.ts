// The rules of a machine's way out, for nftables: those in its own network namespace say what it reaches, those of the host translate its
// address and keep it from the host and from other machines. Pure.
import { blockedRanges } from '../../../../../core/network-policy/blocked-addresses.ts';
import { PRIVATE_RANGE } from '../../../../../core/private-address.ts';
import { GUEST_ADDRESS, HOST_ADDRESS, PLATFORM_PORT } from '../guest/guest-network.ts';
import { CABLES, LINK_RANGE, TAP, UPLINK } from './egress-addresses.ts';

/** Bounds the connections of one machine: more would fill the host's table of connections. */
const CONNECTIONS = 4_096;

/**
 * `own`: the addresses of the host. The machine speaks with its one address alone; its emulator speaks to nobody but it. `private_address`:
 * that with which it speaks IPv6, to private addresses and no further; without one it speaks none.
 */
export function toMachineRules(own: readonly string[], private_address?: string): string {
  const neighbours = 'icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert }';
  const [input, output] =
    private_address === undefined
      ? ['', '']
      : [
          `
    iifname "${TAP}" ip6 saddr { ::, fe80::/10, ${private_address} } ${neighbours} accept
    iifname "${TAP}" ip6 saddr ${private_address} ip6 daddr ${PRIVATE_RANGE} meta l4proto tcp accept`,
          `
    oifname "${TAP}" ${neighbours} accept
    oifname "${TAP}" ip6 saddr ${PRIVATE_RANGE} ip6 daddr ${private_address} meta l4proto tcp accept`,
        ];
  return `
table ip remora {
  set closed { type ipv4_addr; flags interval; auto-merge; elements = { ${[...blockedRanges.ipv4, ...own].join(', ')} } }
  chain source {
    type filter hook prerouting priority raw; policy accept;
    iifname "${TAP}" ip saddr != ${GUEST_ADDRESS} drop
  }
  chain input {
    type filter hook input priority filter; policy drop;
    iifname "${TAP}" ip daddr ${HOST_ADDRESS} tcp dport ${PLATFORM_PORT} accept
  }
  chain forward {
    type filter hook forward priority filter; policy drop;
    iifname "${UPLINK}" oifname "${TAP}" ct state established,related accept
    iifname "${TAP}" ip daddr @closed reject with icmp admin-prohibited
    iifname "${TAP}" oifname "${UPLINK}" ct state new ct count over ${CONNECTIONS} drop
    iifname "${TAP}" oifname "${UPLINK}" accept
  }
  chain output {
    type filter hook output priority filter; policy drop;
    oifname { "lo", "${TAP}" } accept
  }
  chain translate {
    type nat hook postrouting priority srcnat; policy accept;
    oifname "${UPLINK}" masquerade
  }
}
table ip6 remora {
  chain input {
    type filter hook input priority filter; policy drop;${input}
  }
  chain forward { type filter hook forward priority filter; policy drop; }
  chain output {
    type filter hook output priority filter; policy drop;${output}
  }
}
`;
}

/** `scope`: the beginning of the names of this platform's cables. The rules take the place of those that are there. */
export function toHostRules(scope: string): string {
  const table = toHostTable(scope);
  return `
table inet ${table} { }
delete table inet ${table}
table inet ${table} {
  chain input {
    type filter hook input priority filter - 10; policy accept;
    iifname "${scope}*" drop
  }
  chain forward {
    type filter hook forward priority filter - 10; policy accept;
    iifname "${scope}*" ip saddr != ${LINK_RANGE} drop
    iifname "${scope}*" meta nfproto ipv6 drop
    iifname "${scope}*" oifname "${CABLES}*" drop
    iifname "${scope}*" tcp flags syn tcp option maxseg size set rt mtu
    oifname "${scope}*" ct state != { established, related } drop
  }
  chain translate {
    type nat hook postrouting priority srcnat; policy accept;
    ip saddr ${LINK_RANGE} oifname != "${CABLES}*" masquerade
  }
}
`;
}

export function toHostTable(scope: string): string {
  return `remora_${scope}`;
}
