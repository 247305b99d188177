import { describe, expect, it } from 'vitest';
import {
  toChecksumText,
  toCrc64,
  toPageChecksum,
  xorChecksum,
} from '../../../../src/cli/dev/database-node/litefs-checksum.ts';
import { createPageChecksums } from '../../../../src/cli/dev/database-node/page-checksums.ts';

/** The same sum bit by bit over bigints: slow, and written from the definition of the polynomial alone. */
function slowCrc64(bytes: Uint8Array): bigint {
  const ones = 0xffff_ffff_ffff_ffffn;
  let crc = ones;
  for (const byte of bytes) {
    crc ^= BigInt(byte);
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >> 1n) ^ ((crc & 1n) === 1n ? 0xd800_0000_0000_0000n : 0n);
  }
  return crc ^ ones;
}

const page = (fill: number, size = 512) =>
  Buffer.from(Array.from({ length: size }, (_, index) => (fill + index * 7) & 0xff));

describe('the checksum of a database', () => {
  it('has the published check value of CRC-64/ISO', () => {
    expect(toCrc64(Buffer.from('123456789'))).toEqual({ high: 0xb90956c7, low: 0x75a41001 });
  });

  it.each([[''], ['a'], ['\0\0\0\0'], ['SQLite format 3\0'], ['ÿÿÿÿÿÿÿÿÿÿ']])(
    'agrees with the definition for %j',
    (text) => {
      const bytes = Buffer.from(text);
      const { high, low } = toCrc64(bytes);
      expect((BigInt(high) << 32n) | BigInt(low)).toBe(slowCrc64(bytes));
    },
  );

  it('sums a page after its number in big-endian', () => {
    const expected = toCrc64(Buffer.concat([Buffer.from([0, 0, 1, 2]), page(3)]));
    expect(toPageChecksum(258, page(3))).toEqual(expected);
  });

  it('is written as 16 hex digits with the top bit set', () => {
    expect(toChecksumText({ high: 0, low: 0x1f })).toBe('800000000000001f');
    expect(toChecksumText({ high: 0xffffffff, low: 0xffffffff })).toBe('ffffffffffffffff');
  });

  it('is the same whether made page by page or from nothing', () => {
    const kept = createPageChecksums();
    const images = [[page(1), page(2)], [page(1), page(9), page(4)], [page(1)], [page(1), page(9), page(4), page(4)]];
    for (const pages of images) {
      const sum = pages
        .map((bytes, index) => toPageChecksum(index + 1, bytes))
        .reduce((left, right) => xorChecksum(left, right));
      expect(kept.update(Buffer.concat(pages), 512)).toBe(toChecksumText(sum));
    }
    const repaged = Buffer.concat([page(1), page(9), page(4), page(4)]);
    expect(kept.update(repaged, 1_024)).toBe(createPageChecksums().update(repaged, 1_024));
  });
});
