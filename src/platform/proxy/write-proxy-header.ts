// Writes the header of the PROXY protocol, versions 1 and 2, with which a program in a machine learns who has connected. Pure.
import { isIPv4, isIPv6 } from 'node:net';
import type { ProxySource } from './parse-proxy-header.ts';

export type ProxyVersion = 'v1' | 'v2';

const SIGNATURE = Buffer.from('0d0a0d0a000d0a515549540a', 'hex');
const PROXY = 0x21;
const UNSPECIFIED = 0x00;
const TCP4 = 0x11;
const TCP6 = 0x21;
const BYTE_BITS = 8;

/** `caller` has connected to `target`. Addresses of two versions become those of version 6; one that is none makes an unknown caller. */
export function toProxyHeader(version: ProxyVersion, caller: ProxySource, target: ProxySource): Buffer {
  const both = [caller, target];
  const areOld = both.every(({ address }) => isIPv4(address));
  const bytes = both.map(({ address }) => toBytes(address, areOld));
  const isKnown = bytes.every((each) => each !== undefined);
  if (version === 'v1') {
    const words = [...both.map((each) => toText(each.address, areOld)), caller.port, target.port];
    return Buffer.from(`PROXY ${isKnown ? `${areOld ? 'TCP4' : 'TCP6'} ${words.join(' ')}` : 'UNKNOWN'}\r\n`, 'latin1');
  }
  if (!isKnown) return Buffer.concat([SIGNATURE, Buffer.from([PROXY, UNSPECIFIED, 0, 0])]);
  const rest = [...bytes.flat(), ...toTwoBytes(caller.port), ...toTwoBytes(target.port)];
  return Buffer.concat([SIGNATURE, Buffer.from([PROXY, areOld ? TCP4 : TCP6, ...toTwoBytes(rest.length), ...rest])]);
}

function toText(address: string, areOld: boolean): string {
  if (areOld || isIPv6(address)) return withoutZone(address);
  return `::ffff:${address}`;
}

/** Undefined for what is no address. */
function toBytes(address: string, areOld: boolean): number[] | undefined {
  if (areOld) return address.split('.').map(Number);
  const text = toText(address, areOld);
  if (!isIPv6(text)) return undefined;
  // A URL has no dotted form in it, and no leading zeros.
  const [head = '', tail] = new URL(`http://[${text}]`).hostname.slice(1, -1).split('::');
  const [before, after] = [toGroups(head), toGroups(tail ?? '')];
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => 0);
  return [...before, ...zeros, ...after].flatMap(toTwoBytes);
}

function toGroups(text: string): number[] {
  return text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
}

function toTwoBytes(number: number): number[] {
  return [number >> BYTE_BITS, number & 0xff];
}

/** The name of an interface means nothing elsewhere. */
function withoutZone(address: string): string {
  return address.replace(/%.*$/, '');
}
