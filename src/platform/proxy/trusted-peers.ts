// The networks of balancers and other proxies, whose word on who called is believed.
import { BlockList, isIPv6 } from 'node:net';

export class TrustedPeers {
  readonly #list: BlockList | undefined;

  /** `cidrs` were parsed before. */
  constructor(cidrs: readonly Cidr[]) {
    if (cidrs.length === 0) return;
    this.#list = new BlockList();
    for (const { address, prefix } of cidrs) this.#list.addSubnet(address, prefix, isIPv6(address) ? 'ipv6' : 'ipv4');
  }

  has(address: string): boolean {
    return this.#list?.check(address, isIPv6(address) ? 'ipv6' : 'ipv4') === true;
  }
}

export interface Cidr {
  readonly address: string;
  readonly prefix: number;
}
