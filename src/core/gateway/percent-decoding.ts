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

/** Takes off one layer. Bytes that are not part of an escape stay. */
export function decodeOnce(source: string): Decoded {
  const decoded = Buffer.allocUnsafe(source.length);
  let length = 0;
  let all = 0;
  let hasControl = false;
  for (let index = 0; index < source.length; index += 1) {
    let unit = source.charCodeAt(index);
    if (unit === PERCENT) {
      const high = toDigit(source.charCodeAt(index + 1));
      const low = toDigit(source.charCodeAt(index + 2));
      if (high >= 0 && low >= 0) {
        unit = high * 16 + low;
        index += 2;
      }
    }
    all |= unit;
    if (unit < SPACE || unit === 0x7f) hasControl = true;
    decoded[length] = unit;
    length += 1;
  }
  return { bytes: decoded.toString('latin1', 0, length), isAscii: all < 0x80, hasControl };
}

/** The value of a hex digit; -1 for anything else, also for what lies past the end. */
function toDigit(unit: number): number {
  if (unit >= 0x30 && unit <= 0x39) return unit - 0x30;
  const lower = unit | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
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
