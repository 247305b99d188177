// Takes percent-encoding off a text, layer by layer, each in one pass. Pure.

/** The number of layers that are decoded. A path with more layers is refused, because its meaning could only be guessed. */
export const MAX_LAYERS = 3;

export interface Decoded {
  /** One byte in each character. */
  readonly bytes: string;
  readonly isAscii: boolean;
  readonly hasControl: boolean;
}

const ESCAPE = /%[0-9A-Fa-f]{2}/;
const PERCENT = 0x25;
const SPACE = 0x20;

/** The value of each hex digit by its code; -1 for anything else. */
const DIGITS = Int8Array.from({ length: 256 }, (_, code) => {
  const digit = String.fromCharCode(code);
  return /[0-9A-Fa-f]/.test(digit) ? Number.parseInt(digit, 16) : -1;
});

/** Takes off one layer. Bytes that are not part of an escape stay. A character above a byte counts by its lowest byte. */
export function decodeOnce(source: string): Decoded {
  const bytes = Buffer.from(source, 'latin1');
  let length = 0;
  let all = 0;
  let hasControl = false;
  for (let index = 0; index < bytes.length; index += 1) {
    let unit = bytes[index] ?? 0;
    if (unit === PERCENT && index + 2 < bytes.length) {
      // A missing digit makes the whole negative.
      const value = ((DIGITS[bytes[index + 1] ?? 0] ?? 0) << 4) | (DIGITS[bytes[index + 2] ?? 0] ?? 0);
      if (value >= 0) {
        unit = value;
        index += 2;
      }
    }
    all |= unit;
    if (unit < SPACE || unit === 0x7f) hasControl = true;
    bytes[length] = unit;
    length += 1;
  }
  return { bytes: bytes.toString('latin1', 0, length), isAscii: all < 0x80, hasControl };
}

/** Whether the text holds the part as it is, or percent-encoded in any way up to `MAX_LAYERS` times. `part` is ASCII. */
export function holdsEncoded(text: string, part: string): boolean {
  let layer = text;
  for (let count = 0; count <= MAX_LAYERS; count += 1) {
    if (layer.includes(part)) return true;
    if (!ESCAPE.test(layer)) return false;
    layer = decodeOnce(layer).bytes;
  }
  return false;
}
