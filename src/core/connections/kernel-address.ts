// Addresses as the kernel writes them in /proc/net: hex digits, each 32-bit word with its bytes reversed.

/** The address in the usual notation; a v4-mapped address in its IPv4 form. */
export function toAddress(hex: string): string {
  const bytes: number[] = [];
  for (let word = 0; word < hex.length; word += 8) {
    for (let byte = 6; byte >= 0; byte -= 2) {
      bytes.push(Number.parseInt(hex.slice(word + byte, word + byte + 2), 16));
    }
  }
  if (bytes.length === 4) return bytes.join('.');
  const mapped = bytes.slice(0, 10).every((byte) => byte === 0) && bytes[10] === 0xff && bytes[11] === 0xff;
  return mapped ? bytes.slice(12).join('.') : toIpv6(bytes);
}

function toIpv6(bytes: readonly number[]): string {
  const groups: string[] = [];
  for (let at = 0; at < 16; at += 2) groups.push((((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)).toString(16));
  return new URL(`http://[${groups.join(':')}]/`).hostname.slice(1, -1);
}
