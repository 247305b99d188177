// A name in a message of the domain name system, read with its compression (RFC 1035, "Message compression"). Pure.
import { HEADER_BYTES } from './dns-codes.ts';

const NAME_BYTES_MAX = 255;
/** A name has no more labels. Some thousand pointers in a row would cost more than the message that they stand in. */
const POINTERS_MAX = 127;

export interface WireName {
  /** Uncompressed, as it was sent, with the empty label at its end. */
  readonly bytes: Uint8Array;
  /** The same in lower case, a character for each byte: equal for equal names. */
  readonly key: string;
  /** Where the message goes on after it. */
  readonly end: number;
}

/**
 * Undefined for what is no name: one that is cut off, longer than 255 bytes, of unknown labels, or with more pointers than a name has
 * labels. Each pointer leads before where the last one led, so that none is followed twice.
 */
export function readName(message: Uint8Array, from: number): WireName | undefined {
  const bytes = new Uint8Array(NAME_BYTES_MAX);
  let [at, length, before, end] = [from, 0, from, -1];
  let pointers = 0;
  for (;;) {
    const size = message[at];
    if (size === undefined) return undefined;
    if (size >= 0xc0) {
      const low = message[at + 1];
      if (low === undefined) return undefined;
      const target = ((size & 0x3f) << 8) | low;
      pointers += 1;
      if (target < HEADER_BYTES || target >= before || pointers > POINTERS_MAX) return undefined;
      if (end === -1) end = at + 2;
      [at, before] = [target, target];
      continue;
    }
    const next = at + 1 + size;
    if (size > 63 || length + 1 + size > NAME_BYTES_MAX || next > message.length) return undefined;
    bytes.set(message.subarray(at, next), length);
    length += 1 + size;
    at = next;
    if (size === 0) break;
  }
  const name = bytes.subarray(0, length);
  return { bytes: name, key: toKey(name), end: end === -1 ? at : end };
}

/** The lengths of labels are below the codes of letters, and stay. */
function toKey(name: Uint8Array): string {
  const lower = Buffer.from(name);
  for (let at = 0; at < lower.length; at += 1) {
    const byte = lower[at] ?? 0;
    if (byte >= 0x41 && byte <= 0x5a) lower[at] = byte | 0x20;
  }
  return lower.toString('latin1');
}

const PLAIN = /^[a-z0-9_-]+$/;

/**
 * The name of a key as text, without a dot at its end; the root is `.`. A byte that no name of a host has is written as `\` and its three
 * digits, a dot in a label among them: two names never look alike.
 */
export function toNameText(key: string): string {
  const labels: string[] = [];
  for (let at = 0; key.charCodeAt(at) > 0; at += 1 + key.charCodeAt(at)) {
    const label = key.slice(at + 1, at + 1 + key.charCodeAt(at));
    labels.push(PLAIN.test(label) ? label : label.replaceAll(/[^a-z0-9_-]/g, toEscape));
  }
  return labels.length === 0 ? '.' : labels.join('.');
}

function toEscape(byte: string): string {
  return `\\${String(byte.charCodeAt(0)).padStart(3, '0')}`;
}
