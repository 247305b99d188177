// The part of an emulator's launch that makes its end of the way out, while the script is still root and alone in its network namespace: no
// packet is forwarded before the rules are there. Pure.
import { PRIVATE_RANGE } from '../../../../../core/private-address.ts';
import { HOST_ADDRESS, PREFIX_LENGTH } from '../guest/guest-network.ts';
import { TAP, TAP_ADDRESS, TAP_MAC } from './egress-addresses.ts';

/** The way between a machine and private addresses, once the tap is up. */
export const privateWay = `
  ip -6 addr add ${TAP_ADDRESS}/64 dev ${TAP} nodad
  ip -6 route add ${PRIVATE_RANGE} dev ${TAP}
`;

/** Lines of a shell that ends at the first error. `uid`: the user of the emulator, which gets the tap and can make no other. */
export function toEgressScript(uid: number, rules: string): string {
  return `
ip tuntap add dev ${TAP} mode tap user ${uid}
ip link set ${TAP} address ${TAP_MAC}
ip addr add ${HOST_ADDRESS}/${PREFIX_LENGTH} dev ${TAP}
nft -f - <<'RULES'
${rules}
RULES
ip link set ${TAP} up
echo 1 > /proc/sys/net/ipv4/ip_forward
if [ -e /proc/sys/net/ipv6/conf/all/disable_ipv6 ]; then
  echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6
  echo 0 > /proc/sys/net/ipv6/conf/${TAP}/disable_ipv6
${privateWay}fi
mount -t tmpfs -o mode=0755,size=4k remora /dev/net
mknod -m 0600 /dev/net/tun c 10 200
chown ${uid} /dev/net/tun
`;
}
