// The name servers of a resolv.conf. Pure.

/** The text after each `nameserver`, in its order; whether it is an address is for the reader to say. */
export function parseNameServers(text: string): string[] {
  return text.split('\n').flatMap((line) => /^\s*nameserver\s+(\S+)/.exec(line)?.[1] ?? []);
}
