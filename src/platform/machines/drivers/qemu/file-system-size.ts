// How large the file system on a volume is, from its first bytes, which a machine can write as it likes. Pure.

/** The superblock of ext4: where it begins, and where its fields are in it. */
const BEGIN = 1_024;
const BLOCKS_LOW = 0x04;
const LOG_BLOCK_SIZE = 0x18;
const MAGIC_AT = 0x38;
const MAGIC = 0xef53;
const FEATURES = 0x60;
const WIDE = 0x80;
const BLOCKS_HIGH = 0x150;
/** The kernel takes blocks of at most 64 KB. */
const LOG_BLOCK_SIZE_MAX = 6;

/** `toFileSystemBytes` reads so many bytes of a volume at most. */
export const SUPERBLOCK_END = 2_048;

/** Undefined when there is no ext4. */
export function toFileSystemBytes(start: Buffer): bigint | undefined {
  if (start.length < SUPERBLOCK_END) return undefined;
  const block = start.subarray(BEGIN);
  const log = block.readUInt32LE(LOG_BLOCK_SIZE);
  if (block.readUInt16LE(MAGIC_AT) !== MAGIC || log > LOG_BLOCK_SIZE_MAX) return undefined;
  const isWide = (block.readUInt32LE(FEATURES) & WIDE) !== 0;
  const high = isWide ? BigInt(block.readUInt32LE(BLOCKS_HIGH)) : 0n;
  return ((high << 32n) | BigInt(block.readUInt32LE(BLOCKS_LOW))) << BigInt(10 + log);
}
