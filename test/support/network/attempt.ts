// What a program in the machine of a world tries to reach.
export interface Attempt {
  /** `tcp` is a request for `/`, which the server there answers with its address. */
  readonly kind: 'tcp' | 'udp' | 'icmp';
  /** A name, or an address without brackets. */
  readonly host: string;
  /** 0 where there is none. */
  readonly port: number;
  /** 0 = whatever the name has. */
  readonly family: 0 | 4 | 6;
}
