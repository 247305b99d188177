/** The address or name of a host: an IPv6 address stands in brackets in a URL only. */
export function withoutBrackets(host: string): string {
  return host.replace(/^\[|\]$/g, '');
}
